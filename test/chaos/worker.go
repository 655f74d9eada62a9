//go:build unix

package chaos

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// Orders tell a worker process what to do.
type Orders struct {
	Backend, Store       string // names the store for the open function of the backend; Store may contain a password
	Label                string
	Days                 bool // use a layout whose ticks are days
	MinWorker, MaxWorker int64
	Window, TTL, Skew    time.Duration
	Rate                 int           // ids per second; 0 for no limit
	Clock                time.Duration // how far ahead the process's clock should be
	Thief                bool          // claim worker numbers without the store, so that there are duplicates to be found
}

func (o Orders) layout() idgen.Layout {
	if o.Days {
		return days
	}
	return idgen.DefaultLayout()
}

// ordersEnv is the environment variable that turns a process into a worker.
const ordersEnv = "SNOWKEY_CHAOS_WORKER"

// A worker writes lines that start with one of these letters. Lines have to be short
// enough for the pipe to take each of them as a whole, even when the worker is killed.
const (
	lineRun   = "s" // number of the grant, first id, last id, and in µs since 1970, when the last id was drawn and the last grant received
	lineGrant = "g" // a grant, for human readers
	lineBad   = "b" // something that must not happen
	lineNote  = "n" // anything else that happens
	lineDone  = "r" // the response to a command
)

// A worker exits with this status if it is refused because of its clock.
const statusClock = 3

// Work is everything that a worker process does. It reads the commands "clock <how far
// ahead>" and "close" from its standard input, and exits when that is closed.
func Work() {
	var o Orders
	if err := json.Unmarshal([]byte(os.Getenv(ordersEnv)), &o); err != nil {
		fmt.Fprintln(os.Stderr, "chaos: the orders:", err)
		os.Exit(2)
	}
	w := newWorker(o.layout(), os.Stdout)
	w.ahead.Store(int64(o.Clock))
	closing, closed := make(chan struct{}), make(chan error, 1)
	go w.obey(closing)

	b, ok := backendOf(o.Backend)
	if !ok {
		w.fail(2, fmt.Errorf("chaos: no backend is named %q", o.Backend))
	}
	store, err := b.open(o.Store, w.clock)
	if err != nil {
		w.fail(2, err)
	}
	if o.Thief {
		store = &thief{store}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	go func() {
		<-closing
		cancel()
	}()
	pool, err := w.open(ctx, store, o, slog.New(slog.NewTextHandler(os.Stderr, nil)))
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

// clock is the clock of the process.
func (w *worker) clock() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// config returns the configuration of a keeper.
func (o Orders) config(clock func() time.Time, logger *slog.Logger) keeper.Config {
	layout := o.layout()
	return keeper.Config{
		Terms: lease.Terms{
			Namespace: "default", Layout: layout.String(), Epoch: layout.Epoch().UnixMicro(), Unit: layout.Unit().Microseconds(),
			PerTick: 1 << bitsOf(layout, "sequence"), Workers: 1 << bitsOf(layout, "worker"),
			Ahead: (o.Window + o.Skew).Microseconds(), Skew: o.Skew.Microseconds(), TTL: o.TTL.Microseconds(),
		},
		MinWorker: o.MinWorker, MaxWorker: cmp.Or(o.MaxWorker, 1<<bitsOf(layout, "worker")-1), Label: o.Label, MaxBlocked: 2 * o.Window, Logger: logger, Clock: clock,
	}
}

// open does the same as snowkey.Open, but puts a recorder between the lease and the
// pool.
func (w *worker) open(ctx context.Context, store lease.Store, o Orders, logger *slog.Logger) (*idgen.Pool, error) {
	return idgen.NewLeased(idgen.Config{Layout: o.layout(), Clock: w.clock, Logger: logger}, func(issuer leased.Issuer) (leased.Keeper, error) {
		w.lease.Issuer = issuer
		return keeper.Open(ctx, store, &w.lease, o.config(w.clock, logger))
	})
}

type worker struct {
	ahead    atomic.Int64 // of the clock
	released atomic.Bool  // set once Close has returned
	lease    recorder

	run            Run // what hasn't been reported of the last run; First is above Last if there's nothing
	grant          int // the number of its grant; 0 before the first run
	drawn, granted int64
	line           []byte
	told           string // the last kind of error that we noted

	writing sync.Mutex
	out     io.Writer
}

func newWorker(layout idgen.Layout, out io.Writer) *worker {
	w := &worker{run: Run{First: 1}, out: out}
	w.lease.layout = layout
	w.lease.tell = func(text string) { w.say(lineGrant, text) }
	return w
}

// draw keeps drawing ids until the pool is closed.
func (w *worker) draw(pool *idgen.Pool, rate int) {
	most := 4096
	if rate > 0 {
		most = max(min(most, rate/50), 1)
	}
	ids := make([]int64, 0, most)
	for {
		start := time.Now()
		// Most ids are drawn in bulk, but most calls are for just one.
		calls, each := 1, 1+rand.IntN(most)
		if rand.IntN(4) == 0 {
			calls, each = min(64, most), 1
		}
		var err error
		n := 0
		for ; n < calls && err == nil; n++ {
			ids, err = w.take(pool, ids[:0], each)
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

// take draws n ids in one call, and records them.
func (w *worker) take(pool *idgen.Pool, ids []int64, n int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	released := w.released.Load()
	grants, at := w.lease.state()
	var err error
	if n > 1 {
		ids, err = pool.Append(ctx, ids, n)
	} else {
		var id int64
		if id, err = pool.Next(ctx); err == nil {
			ids = append(ids, id)
		}
	}
	if released && err == nil {
		w.bad("an id after Close returned")
	}
	w.record(ids, grants, at)
	return ids, err
}

// record adds the ids of one call to the runs. It must be passed the state that the
// lease had before the call.
func (w *worker) record(ids []int64, grants int, at time.Time) {
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		w.add(Run{ids[0], ids[n-1]}, grants)
		w.drawn, w.granted = time.Now().UnixMicro(), at.UnixMicro()
		ids = ids[n:]
	}
}

// add continues the last run. If that isn't possible, it reports the run and starts a
// new one.
func (w *worker) add(run Run, grants int) {
	grant := w.lease.grantOf(run, grants)
	same := grant == w.grant
	if same && run.First <= w.run.Last {
		// Under a single grant, ids must ascend. If a later grant allows these ids too,
		// they must belong to that one.
		if later := w.lease.grantOf(run, grant+1); later != 0 {
			grant, same = later, false
		}
	}
	if grant == 0 {
		w.bad("ids %d to %d are outside of every grant", run.First, run.Last)
	} else if same && run.First <= w.run.Last {
		w.bad("id %d after %d under grant %d", run.First, w.run.Last, grant)
	}
	if same && run.First == w.run.Last+1 {
		w.run.Last = run.Last
		return
	}
	w.flush()
	w.run, w.grant = run, grant
}

// flush reports what hasn't been reported of the last run.
func (w *worker) flush() {
	if w.run.count() < 1 {
		return
	}
	b := append(w.line[:0], lineRun...)
	for _, n := range []int64{
		int64(w.grant), w.run.First, w.run.Last, w.drawn, w.granted,
	} {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	w.line = append(b, '\n')
	w.write(w.line)
	w.run.First = w.run.Last + 1
}

// obey carries out commands. The test holds the other end of the pipe, so the process
// ends when the test does.
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
		w.say(lineDone, "")
	}
	os.Exit(2)
}

// explain notes an error, unless it's of the same kind as the previous one.
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

func (w *worker) bad(format string, args ...any) { w.say(lineBad, fmt.Sprintf(format, args...)) }

func (w *worker) say(kind, text string) {
	const most = 1000
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > most {
		text = text[:most]
	}
	w.write([]byte(kind + " " + text + "\n"))
}

func (w *worker) fail(status int, err error) {
	w.note(err.Error())
	os.Exit(status)
}

func (w *worker) write(line []byte) {
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.out.Write(line); err != nil {
		os.Exit(2) // the test has ended
	}
}

// A thief is a store that grants every claim without executing a statement. Two
// processes using it lease the same worker number, and therefore issue the same ids.
type thief struct{ lease.Store }

func (s *thief) Claim(_ context.Context, c lease.Claim) (lease.Row, bool, error) {
	row := c.Seen
	row.Token, row.Bound = c.Token, c.Terms.At(c.Seen.Now).Cap
	return row, true, nil
}
