package chaos

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// Orders are what a worker process is to do.
type Orders struct {
	Dialect, Driver, DSN string
	Label                string
	Days                 bool // of a layout whose ticks are days
	MaxWorker            int64
	Window, TTL, Skew    time.Duration
	Rate                 int           // ids a second; 0 for all it can
	Clock                time.Duration // how far the process's clock is ahead
	Thief                bool          // leases without asking the store, to see that it is found out
}

// ordersEnv is the variable that makes a process a worker.
const ordersEnv = "SNOWKEY_CHAOS_WORKER"

// The first letters of the lines that a worker writes.
const (
	lineSpan     = "s" // lease, worker, first, last, count; when drawn, and when the last grant was asked for, in µs
	lineBad      = "b" // what must not be
	lineNote     = "n" // what else happens
	lineRenewals = "r" // how many there were, as the answer to every command
)

// A worker that is refused for its clock ends with this status.
const statusClock = 3

// Work is the whole of a worker process. It obeys the commands "clock <how far
// ahead>", "renewals" and "close" on its standard input, and ends with that.
func Work() {
	var o Orders
	if err := json.Unmarshal([]byte(os.Getenv(ordersEnv)), &o); err != nil {
		fmt.Fprintln(os.Stderr, "chaos: the orders:", err)
		os.Exit(2)
	}
	w := &worker{layout: idgen.DefaultLayout()}
	if o.Days {
		w.layout = days
	}
	w.ahead.Store(int64(o.Clock))
	closing, closed := make(chan struct{}), make(chan error, 1)
	go w.obey(closing)

	db, err := sql.Open(o.Driver, o.DSN)
	if err != nil {
		w.fail(2, err)
	}
	db.SetMaxOpenConns(4)
	w.store.Store = sqlstore.Postgres(db)
	if o.Dialect == "mysql" {
		w.store.Store = sqlstore.MySQL(db)
	}
	var store lease.Store = &w.store
	if o.Thief {
		store = &thief{&w.store}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	go func() {
		<-closing
		cancel()
	}()
	pool, err := snowkey.Open(ctx, store, snowkey.Config{
		Layout: w.layout, Label: o.Label, MaxWorker: o.MaxWorker, Window: o.Window, TTL: o.TTL, MaxClockSkew: o.Skew,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Pool:   idgen.Config{Clock: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }},
	})
	if _, ok := errors.AsType[*lease.ClockSkewError](err); ok {
		w.fail(statusClock, err)
	}
	if err != nil {
		w.fail(1, err)
	}
	go func() {
		<-closing
		err := pool.Close(context.Background())
		w.released.Store(true)
		closed <- err
	}()
	w.draw(pool, o.Rate)
	if err := <-closed; err != nil {
		w.note("close: ", err.Error())
	}
}

// days has room for a run in one day, though not for a process that takes the
// rest of the day with it when it is killed.
var days = func() idgen.Layout {
	epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := idgen.NewLayout(epoch, 24*time.Hour, idgen.Time(15), idgen.Worker(10), idgen.Sequence(32))
	if err != nil {
		panic(err)
	}
	return l
}()

type worker struct {
	layout   idgen.Layout
	ahead    atomic.Int64 // of the clock
	store    watched
	released atomic.Bool // Close has returned

	span    Span // under the lease of that number
	lease   int
	claims  int64 // of the store, when the span began; -1 if unsure
	drawn   int64 // when its last ids were drawn, in µs since 1970; 0 once that is reported
	granted int64 // of the store, before they were drawn
	line    []byte
	told    string // the last note about an error
}

// watched counts what a store grants.
type watched struct {
	lease.Store
	claims, renewals atomic.Int64
	granted          atomic.Int64 // when the last grant was asked for, in µs since 1970
}

func (s *watched) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	sent := time.Now()
	row, ok, err := s.Store.Claim(ctx, c)
	if ok && err == nil {
		s.grant(&s.claims, sent)
	}
	return row, ok, err
}

func (s *watched) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	sent := time.Now()
	row, ok, err := s.Store.Renew(ctx, r)
	if ok && err == nil {
		s.grant(&s.renewals, sent)
	}
	return row, ok, err
}

func (s *watched) grant(n *atomic.Int64, sent time.Time) {
	n.Add(1)
	s.granted.Store(sent.UnixMicro())
}

// draw draws ids until the pool is closed.
func (w *worker) draw(pool *idgen.Pool, rate int) {
	most := 4096
	if rate > 0 {
		most = max(min(most, rate/50), 1)
	}
	ids := make([]int64, 0, most)
	for {
		start := time.Now()
		// Most ids come in bulk, most calls are for one.
		calls, each := 1, 1+rand.IntN(most)
		if rand.IntN(4) == 0 {
			calls, each = min(64, most), 1
		}
		var err error
		n := 0
		for ; n < calls && err == nil; n++ {
			before, granted := w.store.claims.Load(), w.store.granted.Load()
			released := w.released.Load()
			ids, err = w.take(pool, ids[:0], each)
			if released && err == nil {
				w.say(lineBad, "an id after Close returned")
			}
			if len(ids) > 0 {
				w.record(ids, before, w.store.claims.Load())
				w.drawn, w.granted = time.Now().UnixMicro(), granted
			}
		}
		w.flush()
		if errors.Is(err, idgen.ErrClosed) {
			return
		}
		if err != nil {
			w.explain(err)
			time.Sleep(5 * time.Millisecond)
		} else if rate > 0 {
			time.Sleep(time.Duration(n*each)*time.Second/time.Duration(rate) - time.Since(start))
		}
	}
}

func (w *worker) take(pool *idgen.Pool, ids []int64, n int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if n > 1 {
		return pool.Append(ctx, ids, n)
	}
	id, err := pool.Next(ctx)
	if err != nil {
		return ids, err
	}
	return append(ids, id), nil
}

// record adds ids of one call to the span. before and after are how many claims
// the store had granted around the call. A lease is sealed before the next is
// claimed, so if they are equal, the ids are of the last of them; if they are
// not, the ids become a span of their own, because nobody knows.
func (w *worker) record(ids []int64, before, after int64) {
	of := w.layout.Decode(ids[0]).Worker
	if before != after || before != w.claims || of != w.span.Worker || w.span.Count == 0 {
		w.flush()
		w.lease++
		w.span = Span{Worker: of, First: ids[0], Last: ids[0] - 1}
		w.claims = before
		if before != after {
			w.claims = -1
		}
	}
	last := w.span.Last
	for _, id := range ids {
		if id <= last {
			w.say(lineBad, fmt.Sprintf("id %d after %d under one lease of worker %d", id, last, of))
		}
		if w.layout.Decode(id).Worker != of {
			w.say(lineBad, fmt.Sprintf("id %d is not of worker %d", id, of))
		}
		last = id
	}
	w.span.Last = last
	w.span.Count += int64(len(ids))
}

// flush reports the span as far as it goes, unless that is known. A line is shorter than what a pipe
// takes at once or not at all.
func (w *worker) flush() {
	if w.drawn == 0 {
		return
	}
	b := append(w.line[:0], lineSpan...)
	for _, n := range []int64{
		int64(w.lease), w.span.Worker, w.span.First, w.span.Last, w.span.Count,
		w.drawn, w.granted,
	} {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	w.line = append(b, '\n')
	write(w.line)
	w.drawn = 0
}

// obey follows commands. Without a parent there is nobody to report to.
func (w *worker) obey(closing chan<- struct{}) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch command, value, _ := strings.Cut(in.Text(), " "); command {
		case "clock":
			d, err := time.ParseDuration(value)
			if err != nil {
				w.fail(2, err)
			}
			w.ahead.Store(int64(d))
		case "close":
			close(closing)
		}
		w.say(lineRenewals, strconv.FormatInt(w.store.renewals.Load(), 10))
	}
	os.Exit(2)
}

// explain notes an error of another kind than the last.
func (w *worker) explain(err error) {
	kind := fmt.Sprintf("%T", err)
	if wrapped, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		kind = fmt.Sprintf("%T", wrapped.Unwrap())
	}
	if kind != w.told {
		w.told = kind
		w.note(err.Error())
	}
}

func (w *worker) note(parts ...string) { w.say(lineNote, strings.Join(parts, "")) }

func (w *worker) say(kind, text string) {
	const most = 1000
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > most {
		text = text[:most]
	}
	write([]byte(kind + " " + text + "\n"))
}

func (w *worker) fail(status int, err error) {
	w.note(err.Error())
	os.Exit(status)
}

func write(line []byte) {
	if _, err := os.Stdout.Write(line); err != nil {
		os.Exit(2) // nobody reads any more
	}
}

// A thief takes the row that it sees without asking the store. Two of them issue
// the same ids.
type thief struct{ *watched }

func (s *thief) Claim(_ context.Context, c lease.Claim) (lease.Row, bool, error) {
	s.grant(&s.claims, time.Now())
	row := c.Seen
	row.Token, row.Bound = c.Token, c.Terms.Cap(c.Seen.Now)
	return row, true, nil
}
