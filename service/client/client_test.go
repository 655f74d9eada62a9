package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/service/client"
)

// replies answers like package service, which this module does not require. A test in
// test/service has the two talk to each other.
type replies struct {
	next     atomic.Int64
	requests atomic.Int64
	worker   int64
	ranges   bool                   // consecutive ids, in ranges
	fail     atomic.Pointer[string] // the body of an error
}

func (s *replies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if body := s.fail.Load(); body != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, *body)
		return
	}
	var n int64
	_, _ = fmt.Sscan(r.URL.Query().Get("count"), &n)
	last := s.next.Add(n)
	var b strings.Builder
	switch first := last - n + 1; {
	case s.ranges && r.URL.Query().Get("format") == "ranges" && n > 1:
		first += s.worker << 40
		fmt.Fprintf(&b, "%d\n%d-%d\n", first, first+1, first+n-1)
	case s.ranges:
		for i := range n {
			fmt.Fprintln(&b, s.worker<<40+first+i)
		}
	default:
		for i := first; i <= last; i++ {
			fmt.Fprintln(&b, i<<10|s.worker)
		}
	}
	w.Header().Set("Snowkey-Nonce", r.URL.Query().Get("nonce"))
	_, _ = io.WriteString(w, b.String())
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func newClient(t *testing.T, cfg client.Config, urls ...string) *client.Client {
	t.Helper()
	c := errtest.Must(client.New(urls, cfg))(t)
	t.Cleanup(c.Close)
	return c
}

func TestNextFetchesAhead(t *testing.T) {
	s := &replies{}
	c := newClient(t, client.Config{Batch: 100}, serve(t, s))
	for i := range int64(1000) {
		if id, err := c.Next(t.Context()); err != nil || id>>10 != i+1 {
			t.Fatalf("id %d is %d: %v", i+1, id>>10, err)
		}
	}
	if n := s.requests.Load(); n < 10 || n > 12 {
		t.Errorf("%d requests for 1,000 ids with batches of 100", n)
	}
}

// Ids come alone or in ranges, and neighbours stay apart.
func TestRanges(t *testing.T) {
	c := newClient(t, client.Config{Batch: 100}, serve(t, &replies{worker: 1, ranges: true}))
	for i := range int64(1000) {
		if id, err := c.Next(t.Context()); err != nil || id != 1<<40+i+1 {
			t.Fatalf("id %d is %d: %v", i+1, id, err)
		}
	}
	for text, want := range map[string][]int64{
		"280421183266521089-280421183266521090\n":        {280421183266521089, 280421183266521090},
		"9223372036854775806\n9223372036854775807\n":     {9223372036854775806, 9223372036854775807},
		"9223372036854775806-9223372036854775807\n":      {9223372036854775806, 9223372036854775807},
		"0-0\n9223372036854775807-9223372036854775807\n": {0, 9223372036854775807},
	} {
		c := newClient(t, client.Config{Batch: 2}, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Snowkey-Nonce", r.URL.Query().Get("nonce"))
			_, _ = io.WriteString(w, text)
		})))
		if got, err := c.Append(t.Context(), nil, 2); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
}

func TestAppend(t *testing.T) {
	s := &replies{}
	c := newClient(t, client.Config{Batch: 100}, serve(t, s))
	dst := []int64{-1}
	for _, n := range []int{0, 1, 30, 60, 200, 25_000, 3} {
		got, err := c.Append(t.Context(), dst, n)
		if err != nil || len(got) != len(dst)+n || !slices.Equal(got[:len(dst)], dst) || !slices.IsSorted(got[len(dst):]) {
			t.Fatalf("%d ids: got %d, %v", n, len(got)-len(dst), err)
		}
		dst = got
	}
	slices.Sort(dst)
	if len(slices.Compact(dst)) != 1+30+1+60+200+25_000+3 {
		t.Error("an id was given twice")
	}
	for _, n := range []int{-1, 1_000_001} {
		got, err := c.Append(t.Context(), dst[:1], n)
		if e, ok := errors.AsType[*idgen.CountError](err); !ok || e.Count != int64(n) || len(got) != 1 {
			t.Errorf("%d ids: %v", n, err)
		}
	}
}

// If a replica fails, another one is asked, and the first is left alone until the time that
// it has named.
func TestFailover(t *testing.T) {
	behind := `{"error":{"code":"clock_behind","message":"the clock is behind","retryAfterSeconds":60}}`
	a, b := &replies{worker: 1}, &replies{worker: 2}
	a.fail.Store(&behind)
	c := newClient(t, client.Config{Batch: 10}, serve(t, a), serve(t, b))
	for range 100 {
		if id, err := c.Next(t.Context()); err != nil || id&1023 != 2 {
			t.Fatalf("%d: %v", id, err)
		}
	}
	if n := a.requests.Load(); n != 1 {
		t.Errorf("the replica that is behind got %d requests", n)
	}
	b.fail.Store(&behind)
	var e *client.Error
	var err error
	for range 100 {
		if _, err = c.Next(t.Context()); err != nil {
			break
		}
	}
	if !errors.As(err, &e) || e.Code != "clock_behind" || e.RetryAfter != time.Minute || !strings.Contains(e.Error(), "the clock is behind; try again after 1m0s") {
		t.Errorf("both behind: %v", err)
	}
	// If all replicas rest, they are asked nevertheless.
	a.fail.Store(nil)
	if id, err := c.Next(t.Context()); err != nil || id&1023 != 1 {
		t.Errorf("%d: %v", id, err)
	}
}

// A fault is what a network or a proxy does to a request.
type fault int

const (
	none    fault = iota
	drop          // the request is lost
	lose          // the reply is lost
	cut           // the reply ends early
	shorten       // the reply ends early, but its length fits
	repeat        // the reply is the one to an earlier request
	late          // the reply comes after the client has given up
	faults
)

// A proxy stands between clients and a service.
type proxy struct {
	service http.Handler
	choose  func() fault
	mu      sync.Mutex
	earlier *httptest.ResponseRecorder
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := p.choose()
	if f == drop {
		panic(http.ErrAbortHandler)
	}
	answer := httptest.NewRecorder()
	p.service.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	p.mu.Lock()
	earlier := p.earlier
	p.earlier = answer
	p.mu.Unlock()
	switch f {
	case lose:
		panic(http.ErrAbortHandler)
	case late:
		<-r.Context().Done()
	case repeat:
		if earlier != nil {
			answer, body = earlier, earlier.Body.Bytes()
		}
	case cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		body = body[:rand.N(len(body))]
	case shorten:
		body = body[:rand.N(len(body))]
	}
	w.Header().Set("Snowkey-Nonce", answer.Header().Get("Snowkey-Nonce"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
	if f == cut {
		panic(http.ErrAbortHandler)
	}
}

// No matter what the network does to a reply, the client must not return an id again.
func TestNoDuplicates(t *testing.T) {
	choose := func() fault {
		if f := fault(rand.N(2 * int(faults))); f < faults {
			return f
		}
		return none
	}
	var urls []string
	for worker := range 3 {
		urls = append(urls, serve(t, &proxy{service: &replies{worker: 1 + int64(worker), ranges: worker < 2}, choose: choose}))
	}
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var group sync.WaitGroup
	for range 3 {
		c := newClient(t, client.Config{Batch: 20, Timeout: 100 * time.Millisecond}, urls...)
		for worker := range 4 {
			group.Go(func() {
				for i := range 200 {
					want := 1
					if worker == 0 {
						want = i%40 + 1
					}
					ids, _ := c.Append(context.Background(), nil, want)
					mu.Lock()
					for _, id := range ids {
						if seen[id] {
							t.Errorf("id %d came again", id)
						}
						seen[id] = true
					}
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	if len(seen) < 100 { // most calls succeed, unless the machine is so busy that they time out
		t.Errorf("only %d ids", len(seen))
	}
}

func TestBadReplies(t *testing.T) {
	for name, body := range map[string]string{
		"a page": "<html>\n", "JSON": `{"ids":["1","2"]}`, "negative": "-1\n2\n", "too many": "1\n2\n3\n", "too few": "1\n", "none": "",
		"a range too long": "1-3\n", "an endless range": "0-9223372036854775807\n", "a range downwards": "2-1\n", "a range into the next": "1-2\n2-3\n", "a range without end": "1-\n",
		"a range without start": "-2\n", "a range that is cut": "1-2", "a range above 2^63": "9223372036854775807-9223372036854775808\n", "two ranges": "1-2-3\n",
		"no end": "1\n2", "too large": "1\n9223372036854775808\n", "20 digits": "1\n10000000000000000000\n", "endless": strings.Repeat("1", 1<<20), "the same": "2\n2\n", "descending": "2\n1\n", "an empty line": "1\n\n2\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, client.Config{Batch: 2}, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Snowkey-Nonce", r.URL.Query().Get("nonce"))
				_, _ = io.WriteString(w, body)
			})))
			id, err := c.Next(t.Context())
			if e, ok := errors.AsType[*client.Error](err); !ok || len(e.Error()) > 300 {
				t.Errorf("%d, %v", id, err)
			}
		})
	}
	c := newClient(t, client.Config{Batch: 2}, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "1\n2\n")
	})))
	if _, err := c.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "another request") {
		t.Errorf("a reply without a nonce: %v", err)
	}
}

func TestTokenStaysSecret(t *testing.T) {
	const token = "very-secret-token"
	got := make(chan string, 1)
	c := newClient(t, client.Config{Token: token}, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	})))
	_, err := c.Next(t.Context())
	if err == nil || strings.Contains(err.Error(), token) || <-got != "Bearer "+token {
		t.Errorf("%v", err)
	}
	for _, u := range []string{"", "ids:8080", "ftp://ids", "http://", "http://user:" + token + "@ids", "http://\x00" + token} {
		_, err := client.New([]string{"http://ids", u}, client.Config{})
		if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "URL 2") {
			t.Errorf("%q: %v", u, err)
		}
	}
	for _, cfg := range []client.Config{{Batch: -1}, {Batch: 10_001}, {Timeout: -1}} {
		if _, err := client.New([]string{"http://ids"}, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	if _, err := client.New(nil, client.Config{}); err == nil {
		t.Error("no URL was accepted")
	}
}

func TestContextAndClose(t *testing.T) {
	hang := make(chan struct{})
	c := newClient(t, client.Config{Batch: 10}, serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})))
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next: %v", err)
	}
	c.Close()
	if _, err := c.Next(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := c.Append(t.Context(), nil, 2); !errors.Is(err, client.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func Example() {
	server := httptest.NewServer(&replies{worker: 5}) // for an example; otherwise snowkey serve
	defer server.Close()

	ids, err := client.New([]string{server.URL}, client.Config{Token: "…"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close()
	first, err := ids.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := ids.Next(context.Background())
	fmt.Println(first < second, err)
	// Output: true <nil>
}

// limited allows few ids in a request, like a service whose layout has few ids per tick.
type limited struct {
	replies
	max int64

	mu     sync.Mutex
	counts []int64
}

func (s *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n int64
	_, _ = fmt.Sscan(r.URL.Query().Get("count"), &n)
	s.mu.Lock()
	s.counts = append(s.counts, n)
	s.mu.Unlock()
	if n > s.max {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, fmt.Sprintf(`{"error":{"code":"invalid_count","message":"count is too large","max":%d}}`, s.max))
		return
	}
	s.replies.ServeHTTP(w, r)
}

// If a replica allows fewer ids than the client asks for, the client asks it again for as
// many as it allows, and remembers that.
func TestLimitOfAReplica(t *testing.T) {
	s := &limited{max: 3}
	c := newClient(t, client.Config{Batch: 4}, serve(t, s))
	ids, err := c.Append(t.Context(), nil, 11)
	if err != nil || len(ids) != 11 || len(slices.Compact(ids)) != 11 {
		t.Errorf("got %d, %v", ids, err)
	}
	if want := []int64{11, 3, 3, 3, 3}; !slices.Equal(s.counts, want) {
		t.Errorf("it asked for %d ids, want %d", s.counts, want)
	}
}

// Ids ascend from call to call, whether a call needs one id, some that were fetched ahead,
// or more than that.
func TestIDsAscend(t *testing.T) {
	c := newClient(t, client.Config{Batch: 20}, serve(t, &replies{}))
	last := int64(0)
	for i := range 500 {
		ids, err := c.Append(t.Context(), nil, 1+i*7%45)
		if i%3 == 0 && err == nil {
			ids = make([]int64, 1)
			ids[0], err = c.Next(t.Context())
		}
		errtest.NoError(t, err)
		for _, id := range ids {
			if id <= last {
				t.Fatalf("call %d: %d comes after %d", i, id, last)
			}
			last = id
		}
	}
}

// Whoever answers in the place of the service must not be able to send the client, and its
// token, elsewhere: not from https to http on the same host, and not to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var reached atomic.Int64
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached.Add(1)
			w.Header().Set("Snowkey-Nonce", r.URL.Query().Get("nonce"))
			_, _ = io.WriteString(w, "1\n2\n")
		}))
		defer plain.Close()
		secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain.URL+r.URL.RequestURI(), status)
		}))
		defer secure.Close()
		https := secure.Client()
		https.CheckRedirect = func(*http.Request, []*http.Request) error { return nil } // the program's own requests may be redirected
		c := newClient(t, client.Config{Token: "very-secret-token", Batch: 2, HTTP: https}, secure.URL)
		if id, err := c.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: got %d, %v", status, id, err)
		}
		if n := reached.Load(); n > 0 {
			t.Errorf("%d: %d requests followed a redirect", status, n)
		}
		if https.CheckRedirect(nil, nil) != nil {
			t.Error("the program's own client was changed")
		}
	}
}
