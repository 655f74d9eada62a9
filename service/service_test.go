package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

const token, other = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"

func newPool(t *testing.T) *idgen.Pool {
	t.Helper()
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(7)}))(t)
	t.Cleanup(func() { _ = ids.Close(context.Background()) })
	return ids
}

// start serves ids, and returns the URL.
func start(t *testing.T, ids *idgen.Pool, cfg Config) string {
	t.Helper()
	s := httptest.NewServer(errtest.Must(NewHandler(ids, cfg))(t))
	t.Cleanup(s.Close)
	return s.URL
}

// request returns a request with these headers.
func request(t *testing.T, method, url string, headers ...string) *http.Request {
	t.Helper()
	r := errtest.Must(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// send returns the reply to a request.
func send(t *testing.T, r *http.Request) (status int, header http.Header, text string) {
	t.Helper()
	response := errtest.Must(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	return response.StatusCode, response.Header, string(errtest.Must(io.ReadAll(response.Body))(t))
}

// content is the JSON of a reply.
type content struct {
	IDs    []string
	Nonce  string
	ID     string
	Time   time.Time
	Worker *int64
	State  string
	Issued int64
	Error  struct {
		Code, Message     string
		RetryAfterSeconds float64
		Max               int
	}
}

func call(t *testing.T, method, url string, headers ...string) (int, http.Header, content) {
	t.Helper()
	return do(t, request(t, method, url, headers...))
}

func do(t *testing.T, r *http.Request) (int, http.Header, content) {
	t.Helper()
	status, header, text := send(t, r)
	var body content
	if header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return status, header, body
}

func TestIDs(t *testing.T) {
	url := start(t, newPool(t), Config{MaxBatch: 100})
	_, header, one := call(t, "POST", url+"/v1/ids")
	_, _, many := call(t, "POST", url+"/v1/ids?count=100&nonce=n_1")
	if len(one.IDs) != 1 || len(many.IDs) != 100 || many.Nonce != "n_1" || header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %v and %d ids, the nonce %q and the header %v", one.IDs, len(many.IDs), many.Nonce, header)
	}
	last := int64(0)
	for _, text := range append(one.IDs, many.IDs...) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("%s after %d: %v", text, last, err)
		}
		last = id
	}
	status, _, parts := call(t, "GET", url+"/v1/ids/"+many.IDs[99])
	if status != 200 || parts.ID != many.IDs[99] || *parts.Worker != 7 || time.Since(parts.Time).Abs() > time.Minute {
		t.Errorf("%d: %+v", status, parts)
	}
	if status, _, s := call(t, "GET", url+"/v1/status"); status != 200 || s.State != "serving" || s.Issued != 101 || *s.Worker != 7 {
		t.Errorf("%d: %+v", status, s)
	}
}

// plain returns the text that a service replies to a request for ids.
func plain(t *testing.T, query, accept string) string {
	t.Helper()
	_, header, text := send(t, request(t, "POST", start(t, newPool(t), Config{})+"/v1/ids?nonce=n&"+query, "Accept", accept))
	if header.Get("Snowkey-Nonce") != "n" || header.Get("Content-Type") != "text/plain" {
		t.Fatalf("%q, %v", text, header)
	}
	return text
}

func TestPlainText(t *testing.T) {
	if text := plain(t, "count=2", "text/plain"); !regexp.MustCompile(`^\d{18,19}\n\d{18,19}\n$`).MatchString(text) {
		t.Errorf("%q", text)
	}
}

// A reply in ranges has the same ids as one with a line each, and as few lines as possible.
func TestRanges(t *testing.T) {
	var ids []int64
	lines := strings.Split(strings.TrimSuffix(plain(t, "count=5000&format=ranges", ""), "\n"), "\n")
	for _, line := range lines {
		from, to, isRange := strings.Cut(line, "-")
		first, err := strconv.ParseInt(from, 10, 64)
		last := first
		if isRange && err == nil {
			last, err = strconv.ParseInt(to, 10, 64)
		}
		if err != nil || isRange && first >= last || len(ids) > 0 && first <= ids[len(ids)-1]+1 {
			t.Fatalf("%q: %v", line, err)
		}
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
	}
	// The default layout has 4,096 ids in a millisecond, so the batch needs two.
	if len(ids) != 5000 || len(lines) < 2 || len(lines) > 20 {
		t.Errorf("%d ids in %d lines", len(ids), len(lines))
	}
}

func TestBadRequests(t *testing.T) {
	url := start(t, newPool(t), Config{MaxBatch: 100})
	for _, c := range []struct {
		method, path, code string
		status             int
		body               string
	}{
		{"POST", "/v1/ids?count=0", "invalid_count", 400, ""},
		{"POST", "/v1/ids?count=101", "invalid_count", 400, ""},
		{"POST", "/v1/ids?count=-1", "invalid_count", 400, ""},
		{"POST", "/v1/ids?count=9999999999999999999", "invalid_count", 400, ""},
		{"POST", "/v1/ids?count=many", "invalid_count", 400, ""},
		{"POST", "/v1/ids?count=", "invalid_count", 400, ""},
		{"POST", "/v1/ids?format=range", "invalid_format", 400, ""},
		{"POST", "/v1/ids?format=", "invalid_format", 400, ""},
		{"POST", "/v1/ids?nonce=a%0d%0ab", "invalid_nonce", 400, ""},
		{"POST", "/v1/ids?nonce=" + strings.Repeat("x", 65), "invalid_nonce", 400, ""},
		{"GET", "/v1/ids/x1", "invalid_id", 400, ""},
		{"GET", "/v1/ids/-1", "invalid_id", 400, ""},
		{"GET", "/v1/ids/9223372036854775808", "invalid_id", 400, ""},
		{"GET", "/v1/ids", "method_not_allowed", 405, ""},
		{"DELETE", "/v1/status", "method_not_allowed", 405, ""},
		{"GET", "/none", "not_found", 404, ""},
		{"GET", "/", "not_found", 404, ""},
		{"GET", "/v1/status/", "not_found", 404, ""},
		{"GET", "/v1/workers", "not_found", 404, ""}, // without a store
		// What a request doesn't mean is refused, not ignored: a misspelled count would be 1.
		{"POST", "/v1/ids?count=2&count=3", "invalid_query", 400, ""},
		{"POST", "/v1/ids?cuont=2", "invalid_query", 400, ""},
		{"POST", "/v1/ids?Count=2", "invalid_query", 400, ""},
		{"POST", "/v1/ids?count=2;nonce=1", "invalid_query", 400, ""},
		{"POST", "/v1/ids?count=%zz", "invalid_query", 400, ""},
		{"GET", "/v1/ids/12?count=2", "invalid_query", 400, ""},
		{"GET", "/v1/status?x", "invalid_query", 400, ""},
		{"POST", "/v1/ids", "unexpected_body", 400, `{"count":2}`},
		{"GET", "/v1/ids/12", "unexpected_body", 400, "x"},
	} {
		r := errtest.Must(http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body)))(t)
		for _, length := range []int64{int64(len(c.body)), -1} { // -1 sends the body in chunks
			r.ContentLength = length
			r.Body, _ = r.GetBody()
			status, header, body := do(t, r)
			if status != c.status || body.Error.Code != c.code || body.Error.Message == "" {
				t.Errorf("%s %s %s: %d %+v", c.method, c.path, c.body, status, body.Error)
			}
			if status == 405 && header.Get("Allow") == "" {
				t.Errorf("%s %s: no Allow", c.method, c.path)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	url := start(t, newPool(t), Config{Tokens: []string{token, other}, Store: filestore.Dir(t.TempDir())})
	for _, c := range []struct {
		token  string
		status int
	}{{"", 401}, {token[:15], 401}, {token + "0", 401}, {token, 200}, {other, 200}} {
		status, header, body := call(t, "POST", url+"/v1/ids", "Authorization", "Bearer "+c.token)
		if status != c.status || status == 401 && (body.Error.Code != "unauthorized" || header.Get("WWW-Authenticate") != "Bearer" || len(body.IDs) > 0) {
			t.Errorf("%q: %d %+v", c.token, status, body)
		}
	}
	for _, line := range []string{"POST /v1/ids", "GET /v1/ids/1", "GET /v1/status", "GET /v1/workers"} {
		method, path, _ := strings.Cut(line, " ")
		if status, _, _ := call(t, method, url+path); status != 401 {
			t.Errorf("%s: %d without a token", line, status)
		}
	}
	if status, _, _ := call(t, "GET", url+"/readyz"); status != 200 {
		t.Errorf("a probe needs a token: %d", status)
	}
}

func TestConfig(t *testing.T) {
	ids := newPool(t)
	for _, cfg := range []Config{{MaxBatch: -1}, {MaxBatch: 1_000_001}, {Rate: -1}, {MaxWait: -1}} {
		if _, err := NewHandler(ids, cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	if _, err := NewHandler(nil, Config{}); err == nil {
		t.Error("no pool was accepted")
	}
}

// The list has the leases of all processes of the namespace, and of no other.
func TestWorkers(t *testing.T) {
	store := filestore.Dir(t.TempDir())
	open := func(namespace, label string) *idgen.Pool {
		ids := errtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{Namespace: namespace, Label: label, MaxClockSkew: 10 * time.Millisecond}))(t)
		t.Cleanup(func() { _ = ids.Close(context.Background()) })
		return ids
	}
	ids := open("orders", "first")
	open("orders", "second")
	open("bills", "third")
	_, _, text := send(t, request(t, "GET", start(t, ids, Config{Store: store, Namespace: "orders"})+"/v1/workers"))
	row := `{"namespace":"orders","layout":"[^"]+","worker":%d,"state":"leased","label":"%s","since":"20[^"]+Z","expires":"20[^"]+Z"}`
	if want := `^{"workers":\[` + fmt.Sprintf(row+","+row, 0, "first", 1, "second") + `\]}$`; !regexp.MustCompile(want).MatchString(text) {
		t.Errorf("%s, want %s", text, want)
	}
	if status, _, body := call(t, "GET", start(t, ids, Config{Store: unreadable{store}})+"/v1/workers"); status != 503 || !strings.Contains(body.Error.Message, "the disk is gone") {
		t.Errorf("of a store that fails: %d %+v", status, body.Error)
	}
}

type unreadable struct{ lease.Store }

func (unreadable) Layouts(context.Context, string) ([]string, int64, error) {
	return nil, 0, errors.New("the disk is gone")
}

// Without a lease, a request waits for it up to MaxWait, and the reply says why.
func TestUnavailable(t *testing.T) {
	ids := errtest.Must(snowkey.Open(t.Context(), filestore.Dir(t.TempDir()), snowkey.Config{MaxClockSkew: 10 * time.Millisecond}))(t)
	defer ids.Close(t.Context())
	url := start(t, ids, Config{MaxWait: 20 * time.Millisecond})
	errtest.NoError(t, ids.Suspend(t.Context()))
	if status, _, body := call(t, "POST", url+"/v1/ids"); status != 503 || body.Error.Code != "unleased" {
		t.Errorf("%d %+v", status, body)
	}
	if status, _, body := call(t, "GET", url+"/readyz"); status != 503 || body.State != "unleased" {
		t.Errorf("%d %+v", status, body)
	}
}

// If the clock was set back, the reply says when to try again.
func TestClockBehind(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(7), Clock: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}))(t)
	defer ids.Close(t.Context())
	url := start(t, ids, Config{})
	if status, _, _ := call(t, "POST", url+"/v1/ids"); status != 200 {
		t.Fatal(status)
	}
	mu.Lock()
	now = now.Add(-time.Minute)
	mu.Unlock()
	status, header, body := call(t, "POST", url+"/v1/ids")
	after, err := strconv.Atoi(header.Get("Retry-After"))
	if status != 503 || body.Error.Code != "clock_behind" || err != nil || after < 50 || after > 60 || body.Error.RetryAfterSeconds < 50 {
		t.Errorf("%d %v %+v", status, header, body.Error)
	}
}

// The service doesn't listen beyond the loopback interface without protection, and drains
// when it ends.
func TestListenAndServe(t *testing.T) {
	h := errtest.Must(NewHandler(newPool(t), Config{}))(t)
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		err := ListenAndServe(t.Context(), addr, h, false, nil, func(net.Addr) { t.Errorf("it listens at %s", addr) })
		if err == nil || !strings.Contains(err.Error(), "can be reached from other machines") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	slow, release := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(slow)
		<-release
		h.ServeHTTP(w, r)
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	addr, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- ListenAndServe(ctx, "127.0.0.1:0", handler, false, nil, func(a net.Addr) { addr <- a.String() })
	}()
	url := "http://" + <-addr
	status := make(chan int, 1)
	go func() {
		response, err := http.Post(url+"/v1/ids", "", nil)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	<-slow
	stop()
	time.Sleep(20 * time.Millisecond) // until Shutdown has begun
	if _, err := http.Post(url+"/v1/ids", "", nil); err == nil {
		t.Error("a connection was accepted while the service drains")
	}
	close(release)
	if code := <-status; code != 200 {
		t.Errorf("the request in progress got %d", code)
	}
	errtest.NoError(t, <-ended)
}

// Each path of the document is in the code. See TestCodesOfOpenAPI for the codes of errors.
func TestOpenAPI(t *testing.T) {
	url := start(t, newPool(t), Config{Store: filestore.Dir(t.TempDir())})
	_, _, document := send(t, request(t, "GET", url+"/v1/openapi.yaml"))
	paths := regexp.MustCompile(`(?m)^  (/\S+):$`).FindAllStringSubmatch(document, -1)
	if len(paths) != 7 {
		t.Errorf("%d paths", len(paths))
	}
	for _, p := range paths {
		method := "GET"
		if p[1] == "/v1/ids" {
			method = "POST"
		}
		if status, _, _ := call(t, method, url+strings.ReplaceAll(p[1], "{id}", "12")); status != 200 {
			t.Errorf("%s: %d", p[1], status)
		}
	}
}

// A token that can't have 128 random bits is refused by its number, and never shown.
func TestWeakTokens(t *testing.T) {
	ids := newPool(t)
	for _, weak := range []string{
		"", "# tokens of the billing team", "correct horse battery staple", "tokens of the billing team", token[:31], "short-secret", strings.Repeat("ä", 32), token + "\n", token + " # billing", "0123456789abcdef-_/+g",
	} {
		_, err := NewHandler(ids, Config{Tokens: []string{token, weak}})
		if err == nil || !strings.Contains(err.Error(), "token 2 ") || weak != "" && strings.Contains(err.Error(), weak) {
			t.Errorf("%q: %v", weak, err)
		}
	}
	for _, strong := range []string{token, strings.ToUpper(token), "mGWPVqoO/G9TCUhNtYRhmQ==", "mGWPVqoO_G9TCUhNtYRhmQ", "mGWPVqoO-G9TCUhNtYRhmZbTPjcrEZSu9G7LVrsExWU"} {
		if _, err := NewHandler(ids, Config{Tokens: []string{strong}}); err != nil {
			t.Errorf("%q: %v", strong, err)
		}
	}
}

// A request for more ids than the layout allows at once gets the status 400 and the limit,
// because no replica could answer it.
func TestLimitOfTheLayout(t *testing.T) {
	ids := errtest.Must(idgen.NewPool(idgen.Config{Layout: idgen.JSSafe(), Worker: worker.Static(7)}))(t)
	defer ids.Close(context.Background())
	url := start(t, ids, Config{})
	status, _, body := call(t, "POST", url+"/v1/ids?count=10000")
	most := body.Error.Max
	if status != 400 || body.Error.Code != "invalid_count" || most < 1 || most >= 10_000 || !strings.Contains(body.Error.Message, strconv.Itoa(most)) {
		t.Fatalf("%d %+v", status, body.Error)
	}
	for count, want := range map[int]int{most + 1: 400, most: 200} {
		if status, _, body := call(t, "POST", fmt.Sprintf("%s/v1/ids?count=%d", url, count)); status != want || want == 200 && len(body.IDs) != count {
			t.Errorf("%d ids: %d %+v, and %d ids", count, status, body.Error, len(body.IDs))
		}
	}
}

// The limit of the rate counts ids, so a client can't get more by asking for many at once.
func TestRateCountsIDs(t *testing.T) {
	url := start(t, newPool(t), Config{Rate: 500, MaxBatch: 1000})
	if status, _, body := call(t, "POST", url+"/v1/ids?count=501"); status != 400 || body.Error.Max != 500 {
		t.Errorf("more ids than in a second: %d %+v", status, body.Error)
	}
	granted := 0
	for range 20 {
		if status, header, body := call(t, "POST", url+"/v1/ids?count=500"); status == 200 {
			granted += len(body.IDs)
		} else if e := body.Error; status != 429 || e.Code != "rate_limited" || e.RetryAfterSeconds <= 0 || e.RetryAfterSeconds > 1 || header.Get("Retry-After") != "1" {
			t.Errorf("%d %+v, %v", status, e, header)
		}
	}
	if granted < 500 || granted > 9_000 { // 500 at once, and 500 in each second that the test takes
		t.Errorf("20 requests for 500 ids got %d", granted)
	}
}

// The document lists exactly the codes that the code has.
func TestCodesOfOpenAPI(t *testing.T) {
	list := regexp.MustCompile(`(?s)code:\s+type: string\s+enum: \[(.*?)\]`).FindSubmatch(errtest.Must(os.ReadFile("openapi.yaml"))(t))
	if list == nil {
		t.Fatal("the document has no codes")
	}
	listed := strings.Split(string(list[1]), ", ")
	used := map[string]bool{"clock_behind": true}
	for state := idgen.Unleased; state <= idgen.Closed; state++ {
		used[state.String()] = true
	}
	for _, name := range []string{"service.go", "listen.go"} {
		source := errtest.Must(os.ReadFile(name))(t)
		for _, m := range regexp.MustCompile(`(?:Code: |invalid\()"(\w+)"`).FindAllSubmatch(source, -1) {
			used[string(m[1])] = true
		}
	}
	for _, code := range listed {
		if !used[code] {
			t.Errorf("the document has the code %s, which nothing uses", code)
		}
	}
	for code := range used {
		if !slices.Contains(listed, code) {
			t.Errorf("the document lacks the code %s", code)
		}
	}
}
