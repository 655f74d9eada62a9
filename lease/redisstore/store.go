package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in a Redis or Valkey server. Use [New] to create one. The methods
// of the zero value return an error.
//
// A Store is safe for concurrent use.
type Store struct{ client redis.UniversalClient }

var _ lease.Store = (*Store)(nil)

// New returns a store that uses client, which may be a [*redis.Client], also one of
// [redis.NewFailoverClient], or a [*redis.ClusterClient]. The store does not close it. The
// server must be Redis 5 or later, or Valkey.
func New(client redis.UniversalClient) *Store { return &Store{client} }

// fingerprint is the fingerprint of every server. It may be constant, because no
// fingerprint of Redis changes whenever commits are lost, so each lease holds off anyway.
const fingerprint = "redis"

// keys returns the keys of a namespace and of a layout's rows. The part in braces puts
// both into the same slot of a Redis Cluster. The names are escaped, because a brace in
// them would end that part.
func keys(namespace, layout string) []string {
	of := "{snowkey:" + url.QueryEscape(namespace) + "}"
	return []string{of, of + ":" + layout}
}

// A limit describes one of [lease.Limits] to a script: the first counter of the tick that
// contains now plus offset, plus more.
type limit struct{ offset, unit, perTick, more int64 }

// limitsOf returns the limits of terms. It returns an error if a script can't compute
// them.
func limitsOf(t lease.Terms) (tick, cap, raised limit, err error) {
	const longest = (1<<53 - 1) / 10
	if t.Unit < 1 || t.Unit > longest {
		return tick, cap, raised, &lease.PermanentError{
			Err:    fmt.Errorf("redisstore: the layout %q has ticks of %d µs", t.Layout, t.Unit),
			Remedy: fmt.Sprintf("use a layout whose ticks have 1 to %d µs", int64(longest)),
		}
	}
	tick = limit{-t.Epoch, t.Unit, t.PerTick, 0}
	cap = limit{t.Ahead - t.Epoch, t.Unit, t.PerTick, t.PerTick}
	raised = limit{t.Ahead + t.Skew - t.Epoch, t.Unit, t.PerTick, t.PerTick}
	return tick, cap, raised, nil
}

func (l limit) args() []any { return []any{l.offset, l.unit, l.perTick, l.more} }

// Migrate only checks that the server runs scripts, because Redis needs no tables.
func (s *Store) Migrate(ctx context.Context) error {
	_, _, err := s.Layouts(ctx, "")
	return err
}

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error) {
	fields, err := run[[]any](ctx, s, layoutsScript, keys(namespace, ""))
	if err != nil {
		return nil, 0, err
	}
	found := map[string]bool{}
	for field, value := range pairs(fields) {
		if layout, ok := strings.CutPrefix(field, "rows "); ok {
			found[layout] = true
		}
		if layout, ok := strings.CutPrefix(field, "layout "); ok {
			found[layout] = true
			n, err := parseNamespace(value, keys(namespace, "")[0])
			if err != nil {
				return nil, 0, err
			}
			position = max(position, n.position+1)
		}
	}
	return slices.Sorted(maps.Keys(found)), position, nil
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, t lease.Terms, position int64) (created bool, err error) {
	fence, _, raised, err := limitsOf(t)
	if err != nil {
		return false, err
	}
	if !t.Coarse() {
		fence = raised
	}
	done, err := s.write(ctx, createScript, t, append([]any{t.Layout, position, fingerprint}, fence.args()...)...)
	return done == int64(1), err
}

// Probe implements [lease.Store]. Unless the query prefers a worker number or a label, it
// first reads 32 rows at a random place. If none of these is free, it reads all rows, but
// the server returns only those that are free.
func (s *Store) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	const (
		usual = 1024 // how many rows a namespace usually has
		few   = 32   // how many rows are read first
	)
	if !q.Waiting && q.PreferWorker < 0 && q.PreferLabel == "" {
		near := q.Min + rand.Int64N(max(min(q.Max-q.Min+1, usual)-few, 0)+1)
		p, err := s.probe(ctx, q, near, min(near+few-1, q.Max))
		if p.HasFree || err != nil {
			return p, err
		}
	}
	return s.probe(ctx, q, q.Min, q.Max)
}

func (s *Store) probe(ctx context.Context, q lease.Query, least, most int64) (lease.Probe, error) {
	found, err := s.read(ctx, q.Terms, least, most, "free")
	if err != nil {
		return lease.Probe{}, err
	}
	p := lease.Probe{
		HasNamespace: found.namespace != nil, Current: fingerprint, Volatile: true,
		Now: found.now, LastWorker: found.last,
	}
	if p.LastWorker < least {
		p.LastWorker = q.Min - 1
	}
	if p.HasNamespace {
		p.Fence, p.Fingerprint = found.namespace.fence, found.namespace.fingerprint
	}
	rand.Shuffle(len(found.rows), func(i, j int) { found.rows[i], found.rows[j] = found.rows[j], found.rows[i] })
	free := q
	free.Waiting = false
	if p.Row, p.HasFree = leaserule.Choose(found.rows, free); p.HasFree {
		p.HasRow = true
	} else if q.Waiting {
		p.Row, p.HasRow = leaserule.Choose(found.rows, q)
	}
	return p, nil
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, t lease.Terms, seen string) error {
	_, _, raised, err := limitsOf(t)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, fenceScript, t, append([]any{t.Layout, seen, fingerprint}, raised.args()...)...)
	return err
}

// maxRows is how many rows one script adds, since other clients wait meanwhile.
const maxRows = 1024

// AddRows implements [lease.Store].
func (s *Store) AddRows(ctx context.Context, t lease.Terms, least, most int64) error {
	first, _, raised, err := limitsOf(t)
	if err != nil {
		return err
	}
	if !t.Coarse() {
		first = raised
	}
	for ; least <= most; least += maxRows {
		args := []any{t.Layout, least, min(most, least+maxRows-1)}
		if _, err := s.write(ctx, addScript, t, slices.Concat(args, raised.args(), first.args())...); err != nil {
			return err
		}
	}
	return nil
}

// Claim implements [lease.Store]. Because Redis is always volatile, it refuses a claim
// that does not know it.
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	_, cap, _, err := limitsOf(c.Terms)
	if err != nil {
		return lease.Row{}, false, err
	}
	return s.update(ctx, claimScript, c.Terms, c.Volatile, c.Seen.Worker, c.Token, append([]any{
		c.Terms.Layout, c.Seen.Worker, toToken(c.Seen.Token), c.Seen.Revision, c.Seen.Bound, c.Fence, fingerprint,
		toToken(c.Token), c.Label, c.Wanted, c.Terms.TTL, c.Terms.Skew,
	}, cap.args()...))
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	_, cap, _, err := limitsOf(r.Terms)
	if err != nil {
		return lease.Row{}, false, err
	}
	return s.update(ctx, renewScript, r.Terms, r.Volatile, r.Held.Worker, r.Token, append([]any{
		r.Held.Worker, toToken(r.Held.Token), r.Held.Revision, toToken(r.Token), r.Wanted, r.Terms.TTL,
	}, cap.args()...))
}

// update runs a script that returns the time and the row, or nothing if it was refused.
func (s *Store) update(ctx context.Context, script *redis.Script, t lease.Terms, volatile bool, worker int64, token string, args []any) (lease.Row, bool, error) {
	if !volatile {
		return lease.Row{}, false, ctx.Err()
	}
	reply, err := s.write(ctx, script, t, args...)
	if err != nil {
		return lease.Row{}, false, err
	}
	parts, ok := texts(reply)
	if !ok || len(parts) != 0 && len(parts) != 2 {
		return lease.Row{}, false, errReply
	}
	if len(parts) == 0 {
		return lease.Row{}, false, nil
	}
	row, err := parseRow(worker, parts[1], keys(t.Namespace, t.Layout)[1])
	if err == nil {
		row.Now, err = strconv.ParseInt(parts[0], 10, 64)
	}
	if err == nil && row.Token != token { // the reply to another request
		err = errReply
	}
	return row, err == nil, err
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, t lease.Terms, held lease.Row, unused int64) (bool, error) {
	done, err := s.write(ctx, releaseScript, t, held.Worker, toToken(held.Token), held.Revision, unused)
	return done == int64(1), err
}

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, t lease.Terms, least, most int64) ([]lease.Row, error) {
	found, err := s.read(ctx, t, least, most, "all")
	slices.SortFunc(found.rows, func(a, b lease.Row) int { return int(a.Worker - b.Worker) })
	return found.rows, err
}

// A reading is what the script rows.lua returns.
type reading struct {
	now       int64
	namespace *entry // nil if the namespace does not have the layout
	last      int64  // the largest worker that has a row
	rows      []lease.Row
}

func (s *Store) read(ctx context.Context, t lease.Terms, least, most int64, which string) (reading, error) {
	k := keys(t.Namespace, t.Layout)
	reply, err := run[[]any](ctx, s, rowsScript, k, least, most, which, t.Layout, t.Skew)
	if err != nil {
		return reading{}, err
	}
	parts, ok := texts(reply)
	if !ok || len(parts) < 3 {
		return reading{}, errReply
	}
	var r reading
	var err1, err2 error
	r.now, err1 = strconv.ParseInt(parts[0], 10, 64)
	r.last, err2 = strconv.ParseInt(parts[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return reading{}, err
	}
	if parts[1] != "" {
		n, err := parseNamespace(parts[1], k[0])
		if err != nil {
			return reading{}, err
		}
		r.namespace = &n
	}
	for worker, text := range pairs(reply[3:]) {
		n, err := strconv.ParseInt(worker, 10, 64)
		if err != nil {
			return reading{}, damaged(k[1], worker)
		}
		row, err := parseRow(n, text, k[1])
		if err != nil {
			return reading{}, err
		}
		row.Now = r.now
		r.rows = append(r.rows, row)
	}
	return r, nil
}

// An entry is a layout's entry in a namespace.
type entry struct {
	position, fence int64
	fingerprint     string
}

// The scripts have the same patterns.
var (
	namespacePattern = regexp.MustCompile(`(?s)^(\d+) (\d+) (-?\d+) (.*)$`)
	rowPattern       = regexp.MustCompile(`(?s)^(\d+) (\S*) (\d+) (-?\d+) (-?\d+) (.*)$`)
)

func parseNamespace(text, key string) (entry, error) {
	m := namespacePattern.FindStringSubmatch(text)
	if m == nil {
		return entry{}, damaged(key, text)
	}
	if m[1] != protocol.Known() {
		return entry{}, &lease.VersionError{Where: fmt.Sprintf("the key %q", key), Found: m[1]}
	}
	var n [2]int64
	if !parseInts(n[:], m[2:4]) {
		return entry{}, damaged(key, text)
	}
	return entry{n[0], n[1], m[4]}, nil
}

func parseRow(worker int64, text, key string) (lease.Row, error) {
	m := rowPattern.FindStringSubmatch(text)
	if m == nil {
		return lease.Row{}, damaged(key, text)
	}
	if m[1] != protocol.Known() {
		return lease.Row{}, &lease.VersionError{Where: fmt.Sprintf("the key %q", key), Found: m[1]}
	}
	token, err := url.QueryUnescape(m[2])
	var n [3]int64
	if err != nil || !parseInts(n[:], m[3:6]) {
		return lease.Row{}, damaged(key, text)
	}
	return lease.Row{Worker: worker, Token: token, Revision: n[0], Bound: n[1], Expires: n[2], Label: m[6]}, nil
}

func parseInts(into []int64, texts []string) bool {
	for i, text := range texts {
		var err error
		if into[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return false
		}
	}
	return true
}

// toToken returns a token without spaces, because they separate the parts of a row.
func toToken(token string) string { return url.QueryEscape(token) }

// texts returns the strings of a script's reply.
func texts(reply any) (out []string, ok bool) {
	list, ok := reply.([]any)
	for _, value := range list {
		text, isText := value.(string)
		out, ok = append(out, text), ok && isText
	}
	return out, ok
}

// pairs iterates over a reply in which each field is followed by its value.
func pairs(reply []any) func(yield func(field, value string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i+1 < len(reply); i += 2 {
			field, _ := reply[i].(string)
			value, _ := reply[i+1].(string)
			if !yield(field, value) {
				return
			}
		}
	}
}

var errReply = errors.New("redisstore: the server's reply is not one of the script's; the connection may have mixed up replies, or a proxy changed them")
