// Package client draws ids from the service in package service. A [Client] is an
// [idgen.Source], so it works with every integration.
//
//	ids, err := client.New([]string{"http://ids:8080"}, client.Config{Token: token})
//
// You won't need this package if your program can reach the database. In that case use
// snowkey.Open, which leases a worker number for the process so that it can make ids
// without a server.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Config configures a [Client]. The zero Config is valid.
type Config struct {
	// Token is sent as a bearer token if set.
	Token string

	// Batch is the number of ids to fetch at once, up to 10,000. Fetching happens in the
	// background. The client keeps one or two batches, so Next usually doesn't have to
	// wait. Any ids left when the program ends are lost. Defaults to 1,000.
	Batch int

	// Timeout limits each request. Defaults to 5 s.
	Timeout time.Duration

	// HTTP sends the requests. Set it if you need a client certificate, for example.
	// Redirects are never followed, as this would leak the token. Defaults to a client
	// with the settings of http.DefaultTransport.
	HTTP *http.Client
}

// An Error is returned if the service didn't give us any ids. If there are several
// replicas, it's the error of the last one tried.
type Error struct {
	URL        string        // of the replica
	Code       string        // of the service, such as clock_behind; "" if the service was not reached
	RetryAfter time.Duration // how long to wait before another try; 0 if that isn't known
	Err        error
	max        int // how many ids the replica allows in a request, if we asked for more
}

func (e *Error) Error() string {
	text := fmt.Sprintf("client: %s: %v", e.URL, e.Err)
	if e.RetryAfter > 0 {
		text += fmt.Sprintf("; try again after %v", e.RetryAfter)
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrClosed is returned by the methods of a client after Close.
var ErrClosed = errors.New("client: it is closed")

const (
	defaultBatch   = 1000
	maxBatch       = 10_000 // the default limit of the service; a layout may have a lower one
	defaultTimeout = 5 * time.Second
)

// A Client draws ids in batches from one of several replicas of the service, moving on to
// the next replica if one fails. It is safe for concurrent use. The zero Client isn't
// valid; use [New] to create one.
//
// Ids are unique, and ascend from call to call as long as they come from the same
// replica. Note that an id is as old as the fetch that brought it, so ids from two
// replicas or two clients can overlap in time.
type Client struct {
	cfg    Config
	http   http.Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	// turn has a value while a call fetches ids. Only that call uses replicas.
	turn     chan struct{}
	replicas []*replica

	mu  sync.Mutex
	ids []int64 // fetched but not used yet, in the order of the reply
}

type replica struct {
	url     *url.URL
	resting time.Time // until then, because it failed; zero after it has answered
	most    int       // how many ids it allows in a request
}

var _ idgen.Source = (*Client)(nil)

// New returns a client for the replicas at these URLs. It doesn't connect until the first
// call. Errors never contain a token or a password.
func New(urls []string, cfg Config) (*Client, error) {
	cfg.Batch, cfg.Timeout = cmp.Or(cfg.Batch, defaultBatch), cmp.Or(cfg.Timeout, defaultTimeout)
	switch {
	case cfg.Batch < 1 || cfg.Batch > maxBatch:
		return nil, fmt.Errorf("client: Batch is %d; it must be between 1 and %d", cfg.Batch, maxBatch)
	case cfg.Timeout < 0:
		return nil, fmt.Errorf("client: Timeout is %v; it must be positive, or 0 for %v", cfg.Timeout, defaultTimeout)
	case len(urls) == 0:
		return nil, errors.New("client: there is no URL; name at least one replica, such as http://127.0.0.1:8080")
	}
	c := &Client{cfg: cfg, turn: make(chan struct{}, 1)}
	if cfg.HTTP != nil {
		c.http = *cfg.HTTP
	} else {
		c.http.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return nil, fmt.Errorf("client: URL %d is not the URL of a service; it needs http or https and a host, and no user", i+1)
		}
		c.replicas = append(c.replicas, &replica{url: u.JoinPath("v1", "ids"), most: maxBatch})
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Next returns an id, usually one that's already been fetched. If there aren't any, it
// waits for the service until ctx ends. The error is an [*Error] or [ErrClosed], or wraps
// the error of ctx.
func (c *Client) Next(ctx context.Context) (int64, error) {
	ids, err := c.take(ctx, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Append appends n ids to dst in ascending order. If not enough have been fetched yet, it
// fetches the missing ones, and at least a batch. It returns a [*idgen.CountError] if n
// is below 0 or above 1,000,000. Otherwise errors are the same as for Next. On error, dst
// is returned unchanged.
func (c *Client) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	const most = 1_000_000
	switch {
	case n < 0 || n > most:
		return dst, &idgen.CountError{Count: int64(n), Max: most}
	case n == 0:
		return dst, nil
	}
	ids, err := c.take(ctx, n)
	if err != nil {
		return dst, err
	}
	slices.Sort(ids) // because they may come from several replicas
	return append(dst, ids...), nil
}

// take returns n ids that were fetched. If there are fewer, it waits for its turn and
// fetches the missing ones.
func (c *Client) take(ctx context.Context, n int) ([]int64, error) {
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	ids, missing := c.ready(n)
	if missing == 0 {
		return ids, nil
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("client: waiting for ids: %w", ctx.Err())
	}
	defer func() { <-c.turn }()
	for {
		if ids, missing = c.ready(n); missing == 0 {
			return ids, nil
		}
		if err := c.fetch(ctx, max(missing, c.cfg.Batch)); err != nil {
			return nil, err
		}
	}
}

// ready takes n ids of those that were fetched, or none if some are missing. If few are
// left, it fetches a batch in the background, unless a fetch is running.
func (c *Client) ready(n int) (ids []int64, missing int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids) < n {
		return nil, n - len(c.ids)
	}
	ids, c.ids = c.ids[:n:n], c.ids[n:]
	if len(c.ids) <= c.cfg.Batch {
		select {
		case c.turn <- struct{}{}:
			go func() {
				defer func() { <-c.turn }()
				_ = c.fetch(c.ctx, c.cfg.Batch) // a call that runs out of ids tries again and reports the error
			}()
		default:
		}
	}
	return ids, 0
}

// fetch gets n new ids, or as many as a replica allows in a request. It asks one replica
// after the other, starting with the one that has answered last, and then those that
// failed longest ago. The caller must have the turn.
func (c *Client) fetch(ctx context.Context, n int) error {
	var last error
	slices.SortStableFunc(c.replicas, func(a, b *replica) int { return a.resting.Compare(b.resting) })
	for _, r := range c.replicas {
		ids, failed := c.request(ctx, r.url, min(n, r.most))
		if failed != nil && 0 < failed.max && failed.max < min(n, r.most) {
			r.most = failed.max
			ids, failed = c.request(ctx, r.url, r.most)
		}
		switch {
		case failed == nil:
			r.resting = time.Time{}
			c.mu.Lock()
			c.ids = append(c.ids, ids...)
			c.mu.Unlock()
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("client: waiting for ids: %w", ctx.Err())
		}
		r.resting = time.Now().Add(cmp.Or(failed.RetryAfter, time.Second))
		last = failed
	}
	return last
}

// request sends a request to a replica. Each request has its own nonce, so we notice if a
// cache or a proxy gives us the reply to another request.
func (c *Client) request(ctx context.Context, u *url.URL, n int) ([]int64, *Error) {
	at := u.Scheme + "://" + u.Host
	fail := func(err error) ([]int64, *Error) { return nil, &Error{URL: at, Err: err} }
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	nonce := rand.Text()
	to := *u
	to.RawQuery = url.Values{"count": {strconv.Itoa(n)}, "format": {"ranges"}, "nonce": {nonce}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), nil)
	if err != nil {
		return fail(err)
	}
	r.Header.Set("Accept", "text/plain")
	if c.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL
		}
		return fail(err)
	}
	defer response.Body.Close()
	var body struct {
		Error struct {
			Code              string  `json:"code"`
			Message           string  `json:"message"`
			RetryAfterSeconds float64 `json:"retryAfterSeconds"`
			Max               int     `json:"max"`
		} `json:"error"`
	}
	var buffer bytes.Buffer
	buffer.Grow(n*20 + bytes.MinRead)
	if _, err := buffer.ReadFrom(io.LimitReader(response.Body, int64(n)*20+4096)); err != nil {
		return fail(fmt.Errorf("the reply was cut off: %w", err))
	}
	text := buffer.Bytes()
	switch {
	case response.StatusCode/100 == 3:
		return fail(fmt.Errorf("it replied %s; the client follows no redirect, so use the URL of the service itself", response.Status))
	case response.StatusCode != http.StatusOK && (json.Unmarshal(text, &body) != nil || body.Error.Code == ""):
		return fail(fmt.Errorf("it replied %s", response.Status))
	case response.StatusCode != http.StatusOK:
		wait := time.Duration(min(max(body.Error.RetryAfterSeconds, 0), 1e6) * float64(time.Second))
		return nil, &Error{at, body.Error.Code, wait, errors.New(body.Error.Message), body.Error.Max}
	case response.Header.Get("Snowkey-Nonce") != nonce:
		return fail(errors.New("the reply is that to another request; does a cache stand between? Its ids are not used"))
	}
	ids, err := parse(text, n)
	if err != nil {
		return fail(err)
	}
	return ids, nil
}

// parse reads n ascending ids. Each line contains either a single id, or the first and the
// last of several consecutive ids, such as 5-9. We need to accept both, because an older
// service doesn't know ranges and sends one id per line.
func parse(text []byte, n int) ([]int64, error) {
	ids := make([]int64, 0, n)
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		from, to, isRange := bytes.Cut(line, []byte{'-'})
		first, ok := parseID(from)
		last := first
		if ok && isRange {
			last, ok = parseID(to)
		}
		switch {
		case !ended || !ok:
			return nil, fmt.Errorf("the reply has %.50q where an id is expected; it may have been cut off", line)
		case first > last || len(ids) > 0 && first <= ids[len(ids)-1]:
			return nil, fmt.Errorf("the reply has %.50q, which isn't above the ids before it", line)
		case last-first >= int64(n-len(ids)):
			return nil, fmt.Errorf("the reply has more than %d ids", n)
		}
		for i := range last - first + 1 {
			ids = append(ids, first+i)
		}
		text = rest
	}
	if len(ids) != n {
		return nil, fmt.Errorf("the reply has %d ids, not %d", len(ids), n)
	}
	return ids, nil
}

// parseID parses a decimal id without a sign.
func parseID(text []byte) (int64, bool) {
	id, err := strconv.ParseUint(string(text), 10, 63)
	return int64(id), err == nil
}

// Close closes the client. Any ids left over are lost, and later calls return
// [ErrClosed]. Calls in progress continue until their own context ends.
func (c *Client) Close() {
	c.cancel()
	if c.cfg.HTTP == nil {
		c.http.CloseIdleConnections()
	}
}
