// Package service hands out a pool's ids over HTTP, for programs written in other
// languages. Run it with the command snowkey serve, or add [NewHandler] to your own
// server. Each process of the service leases its own worker number, so you can run as
// many of them as you like behind a load balancer without them knowing about each other.
//
//	POST /v1/ids?count=3   ids
//	GET  /v1/ids/{id}      the time, the worker number and the sequence of an id
//	GET  /v1/status        the state, the worker number and the counters of the pool
//	GET  /v1/workers       the leased worker numbers, if Config.Store is set
//	GET  /v1/openapi.yaml  this interface as an OpenAPI document
//	GET  /readyz, /livez   probes, as in package idgen/healthz
//
// Ids are strings in JSON, because JavaScript rounds numbers above 2^53. Send the header
// Accept: text/plain if you'd rather get one id per line; add format=ranges to put
// consecutive ids on the same line. The whole interface is described in docs/services.md.
// For Go there's a client in package service/client.
package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/healthz"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/lease"
)

// Config configures the service. The zero Config is valid, but note that it lets anybody
// who can reach the service draw ids.
type Config struct {
	// Tokens are the bearer tokens the service accepts. Each must have at least 128
	// random bits, i.e. 32 hex digits or 22 characters of base64. List both the old and
	// the new one while you're replacing a token. Without any tokens, anybody can use the
	// service. Probes and the OpenAPI document never require a token.
	Tokens []string

	// MaxBatch limits how many ids can be requested at once. The limit may be lower for
	// layouts with few ids per tick, as with [idgen.Generator.Append]. Defaults to
	// 10,000.
	MaxBatch int

	// Rate is the number of ids per second the service hands out to all clients together.
	// Requests above that get a 429, and a single request can't ask for more than that
	// either. Defaults to no limit.
	Rate float64

	// Store and Namespace should match the snowkey.Open call that opened the pool. If
	// Store is set, GET /v1/workers lists all worker numbers leased in the namespace.
	// Namespace defaults to "default".
	Store     lease.Store
	Namespace string

	// MaxWait limits how long a request waits for ids, e.g. because there's no lease
	// right now. Defaults to 5 s.
	MaxWait time.Duration
}

const (
	defaultMaxBatch = 10_000
	defaultMaxWait  = 5 * time.Second

	// limitBatch keeps the JSON of a reply below 25 MB.
	limitBatch = 1_000_000
)

func (cfg *Config) validate() error {
	cfg.MaxBatch, cfg.MaxWait = cmp.Or(cfg.MaxBatch, defaultMaxBatch), cmp.Or(cfg.MaxWait, defaultMaxWait)
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	for i, token := range cfg.Tokens {
		if !strongToken(token) {
			return fmt.Errorf("service: token %d has other characters than those of hex and base64, or less than 128 bits; make one with openssl rand -hex 16", i+1)
		}
	}
	switch {
	case cfg.MaxBatch < 1 || cfg.MaxBatch > limitBatch:
		return fmt.Errorf("service: MaxBatch is %d; it must be between 1 and %d", cfg.MaxBatch, limitBatch)
	case cfg.Rate < 0 || math.IsNaN(cfg.Rate):
		return fmt.Errorf("service: Rate is %v ids per second; it must be positive, or 0 for no limit", cfg.Rate)
	case cfg.MaxWait < 0:
		return fmt.Errorf("service: MaxWait is %v; it must be positive, or 0 for %v", cfg.MaxWait, defaultMaxWait)
	}
	if cfg.Rate > 0 {
		cfg.MaxBatch = int(math.Ceil(min(cfg.Rate, float64(cfg.MaxBatch))))
	}
	return nil
}

var (
	hexDigits   = regexp.MustCompile(`^[0-9A-Fa-f]*$`)
	base64Token = regexp.MustCompile(`^[0-9A-Za-z+/_-]{22,}=*$`)
)

// strongToken reports whether a token has room for 128 random bits. It can't know whether
// they are random, but it refuses words, comments and what was cut off.
func strongToken(token string) bool {
	if hexDigits.MatchString(token) {
		return len(token) >= 32
	}
	return base64Token.MatchString(token)
}

// NewHandler returns the service for a pool. It's safe for concurrent use. Errors never
// contain a token.
func NewHandler(pool *idgen.Pool, cfg Config) (http.Handler, error) {
	if pool == nil {
		return nil, errors.New("service: there is no pool; open one with snowkey.Open")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &server{pool: pool, cfg: cfg}
	if cfg.Rate > 0 {
		s.limiter = rate.NewLimiter(rate.Limit(cfg.Rate), int(math.Ceil(min(cfg.Rate, limitBatch))))
	}
	for _, token := range cfg.Tokens {
		s.tokens = append(s.tokens, sha256.Sum256([]byte(token)))
	}
	mux := http.NewServeMux()
	handle := func(method, path string, h http.Handler) {
		mux.Handle(method+" "+path, h)
		allowed := strings.Replace(method, "GET", "GET, HEAD", 1)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allowed)
			write(w, &problem{status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: r.Method + " is not allowed here; allowed is " + allowed})
		})
	}
	handle("POST", "/v1/ids", s.authorized(s.ids, "count", "format", "nonce"))
	handle("GET", "/v1/ids/{id}", s.authorized(s.decode))
	handle("GET", "/v1/status", s.authorized(s.status))
	if cfg.Store != nil {
		handle("GET", "/v1/workers", s.authorized(s.workers))
	}
	handle("GET", "/v1/openapi.yaml", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(openAPI)
	}))
	handle("GET", "/readyz", healthz.Ready(pool))
	handle("GET", "/livez", healthz.Live(pool))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, &problem{status: http.StatusNotFound, Code: "not_found", Message: "there is no " + r.URL.Path + "; see /v1/openapi.yaml"})
	})
	// Pages of other origins must not use the service with the browser of somebody who can.
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write(w, &problem{status: http.StatusForbidden, Code: "cross_origin", Message: "the request comes from a page of another origin"})
	}))
	return protection.Handler(mux), nil
}

//go:embed openapi.yaml
var openAPI []byte

type server struct {
	pool    *idgen.Pool
	cfg     Config
	tokens  [][sha256.Size]byte
	limiter *rate.Limiter
}

// authorized calls next only for requests with one of the tokens, without a body, and with
// these parameters at most.
func (s *server) authorized(next func(http.ResponseWriter, *http.Request) error, parameters ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// No cache may give the same reply to two requests.
		w.Header().Set("Cache-Control", "no-store")
		err := error(&problem{status: http.StatusUnauthorized, Code: "unauthorized", Message: "the request needs one of the service's tokens: Authorization: Bearer …"})
		if s.allows(r) {
			if err = checkForm(w, r, parameters); err == nil {
				err = next(w, r)
			}
		}
		if err != nil {
			write(w, err)
		}
	})
}

// checkForm refuses what would otherwise be ignored. A client that sends the count in the
// body, or misspells it, would get a single id.
func checkForm(w http.ResponseWriter, r *http.Request, parameters []string) error {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 0)); err != nil {
		return invalid("unexpected_body", "the request has a body; write parameters into the URL")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("invalid_query", "the query of the URL is malformed")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(parameters, name):
			return invalid("invalid_query", "there is no parameter %.40q here", name)
		case len(values) > 1:
			return invalid("invalid_query", "the parameter %q is there %d times", name, len(values))
		}
	}
	return nil
}

// allows reports whether the request has one of our tokens. The time it takes doesn't
// depend on what they are.
func (s *server) allows(r *http.Request) bool {
	if len(s.tokens) == 0 {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(token))
	equal := 0
	for _, ours := range s.tokens {
		equal |= subtle.ConstantTimeCompare(sum[:], ours[:])
	}
	return equal == 1 && strings.EqualFold(scheme, "Bearer")
}

// An idsReply contains new ids. It also repeats the nonce of the request, from which the
// client can tell that no cache has given it the reply to another request. In a reply in
// plain text, the nonce is in the header Snowkey-Nonce.
type idsReply struct {
	IDs   []string `json:"ids"`
	Nonce string   `json:"nonce,omitempty"`
}

func (s *server) ids(w http.ResponseWriter, r *http.Request) error {
	count := 1
	query := r.URL.Query()
	if text := query.Get("count"); query.Has("count") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > s.cfg.MaxBatch {
			return invalidCount(text, int64(s.cfg.MaxBatch))
		}
		count = n
	}
	if text := query.Get("format"); query.Has("format") && text != "ranges" {
		return invalid("invalid_format", "format is %.40q; it can only be ranges", text)
	}
	nonce := query.Get("nonce")
	if !nonces.MatchString(nonce) {
		return invalid("invalid_nonce", "nonce can have up to 64 letters, digits, hyphens and underscores")
	}
	if s.limiter != nil {
		now := time.Now()
		reservation := s.limiter.ReserveN(now, count)
		if delay := reservation.DelayFrom(now); delay > 0 {
			reservation.CancelAt(now)
			return &problem{status: http.StatusTooManyRequests, Code: "rate_limited", Message: fmt.Sprintf("the service hands out %v ids per second, to all clients together", s.cfg.Rate), RetryAfterSeconds: delay.Seconds()}
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.MaxWait)
	defer cancel()
	ids, err := s.pool.NextN(ctx, count)
	if e, ok := errors.AsType[*idgen.CountError](err); ok { // the layout has a lower limit than MaxBatch
		return invalidCount(strconv.Itoa(count), e.Max)
	}
	if err != nil {
		return s.unavailable(err)
	}
	ranges := query.Get("format") == "ranges"
	if ranges || r.Header.Get("Accept") == "text/plain" {
		if nonce != "" {
			w.Header().Set("Snowkey-Nonce", nonce)
		}
		return reply(w, http.StatusOK, "text/plain", appendIDs(nil, ids, ranges))
	}
	body := idsReply{make([]string, len(ids)), nonce}
	for i, id := range ids {
		body.IDs[i] = strconv.FormatInt(id, 10)
	}
	return writeJSON(w, http.StatusOK, body)
}

func invalidCount(text string, most int64) error {
	p := invalid("invalid_count", "count is %.40q; it must be a number from 1 to %d", text, most)
	p.Max = most
	return p
}

// appendIDs appends ascending ids to text, one per line. If ranges is set, consecutive ids
// share a line such as 5-9, which usually makes a batch of 1,000 ids one or two lines long
// instead of 20 KB.
func appendIDs(text []byte, ids []int64, ranges bool) []byte {
	for i := 0; i < len(ids); i++ {
		text = strconv.AppendInt(text, ids[i], 10)
		first := i
		for ranges && i+1 < len(ids) && ids[i+1] == ids[i]+1 {
			i++
		}
		if i > first {
			text = strconv.AppendInt(append(text, '-'), ids[i], 10)
		}
		text = append(text, '\n')
	}
	return text
}

var nonces = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

// unavailable describes why the pool doesn't issue ids.
func (s *server) unavailable(err error) error {
	p := &problem{status: http.StatusServiceUnavailable, Code: "unavailable", Message: err.Error()}
	if e, ok := errors.AsType[*idgen.ClockError](err); ok {
		p.Code, p.RetryAfterSeconds = "clock_behind", e.RetryAfter.Seconds()
	} else if h := s.pool.Health(); h.State >= idgen.Unleased {
		p.Code = h.State.String()
		if h.Reason != nil {
			p.Message = h.Reason.Error()
		}
	}
	return p
}

// A decodeReply contains the parts of an id.
type decodeReply struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Worker   int64     `json:"worker"`
	Sequence int64     `json:"sequence"`
	Rollback *int64    `json:"rollback,omitempty"`
	Fixed    []int64   `json:"fixed,omitempty"`
	Layout   string    `json:"layout"`
}

func (s *server) decode(w http.ResponseWriter, r *http.Request) error {
	text := r.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return invalid("invalid_id", "%.40q is not an id; ids are decimal numbers from 0 to %d", text, int64(math.MaxInt64))
	}
	layout := s.pool.Layout()
	parts := layout.Decode(id)
	body := decodeReply{ID: strconv.FormatInt(id, 10), Time: parts.Time, Worker: parts.Worker, Sequence: parts.Sequence, Fixed: parts.Fixed, Layout: layout.String()}
	if strings.Contains(layout.String(), "rollback") {
		body.Rollback = &parts.Rollback
	}
	return writeJSON(w, http.StatusOK, body)
}

// A statusReply contains the state of the process, with counters that begin at its start.
type statusReply struct {
	State            string  `json:"state"`
	Reason           string  `json:"reason,omitempty"`
	Worker           *int64  `json:"worker,omitempty"`
	Layout           string  `json:"layout"`
	Issued           int64   `json:"issued"`
	Waits            int64   `json:"waits"`
	WindowSeconds    float64 `json:"windowSeconds,omitempty"` // how long ids can be issued without a renewal
	RemainingSeconds float64 `json:"remainingSeconds"`        // of the layout
}

func (s *server) status(w http.ResponseWriter, _ *http.Request) error {
	h, stats := s.pool.Health(), s.pool.Stats()
	body := statusReply{State: h.State.String(), Layout: s.pool.Layout().String(), Issued: stats.Issued, Waits: stats.Waits + stats.LeaseWaits, RemainingSeconds: h.Remaining.Seconds()}
	if h.Reason != nil {
		body.Reason = h.Reason.Error()
	}
	if stats.Window != idgen.NoLimit {
		body.WindowSeconds = stats.Window.Seconds()
	}
	if number, ok := s.pool.Worker(); ok {
		body.Worker = &number
	}
	return writeJSON(w, http.StatusOK, body)
}

// workers lists the worker numbers that are leased in the namespace.
func (s *server) workers(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.MaxWait)
	defer cancel()
	workers, err := keeper.Workers(ctx, s.cfg.Store, s.cfg.Namespace, false)
	if err != nil {
		return &problem{status: http.StatusServiceUnavailable, Code: "unavailable", Message: err.Error()}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"workers": append([]keeper.Worker{}, workers...)})
}

// A problem is an error that is reported to the client, as the member error of the reply.
type problem struct {
	status            int
	Code              string  `json:"code"` // for programs; the OpenAPI document lists them
	Message           string  `json:"message"`
	RetryAfterSeconds float64 `json:"retryAfterSeconds,omitempty"` // 0 if it isn't known
	Max               int64   `json:"max,omitempty"`               // of a count, or 0
}

func (p *problem) Error() string { return p.Message }

// invalid returns what is wrong with a request.
func invalid(code, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

func write(w http.ResponseWriter, err error) {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = &problem{status: http.StatusInternalServerError, Code: "internal", Message: err.Error()}
	}
	switch {
	case p.status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case p.RetryAfterSeconds > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfterSeconds))))
	}
	_ = writeJSON(w, p.status, map[string]*problem{"error": p})
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return reply(w, status, "application/json", text)
}

func reply(w http.ResponseWriter, status int, kind string, text []byte) error {
	w.Header().Set("Content-Type", kind)
	// The length lets the client notice if the reply was cut off.
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // if the client is gone, there is nobody to tell
	return nil
}
