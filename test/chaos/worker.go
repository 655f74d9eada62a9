//go:build unix

package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
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
	Rate                 int           // ids per second
	Clock                time.Duration // how far ahead the process's clock should be
	Thief                bool          // claim worker numbers without the store, so that there are duplicates to be found
}

const workerBits = 10

// layout returns the layout, and the bits of its sequence. That of days has room for a run
// within a single day. It doesn't have enough to continue on that day after a process was
// killed, because such a process takes the rest of the day with it.
func (o Orders) layout() (layout idgen.Layout, bits int) {
	if !o.Days {
		return idgen.DefaultLayout(), 12
	}
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 24*time.Hour, idgen.Time(15), idgen.Worker(workerBits), idgen.Sequence(32))
	if err != nil {
		panic(err)
	}
	return layout, 32
}

// config returns the configuration of a keeper.
func (o Orders) config(clock func() time.Time, logger *slog.Logger) keeper.Config {
	layout, bits := o.layout()
	return keeper.Config{
		Terms: lease.Terms{
			Namespace: "default", Layout: layout.String(), Epoch: layout.Epoch().UnixMicro(), Unit: layout.Unit().Microseconds(),
			PerTick: 1 << bits, Workers: 1 << workerBits,
			Ahead: (o.Window + o.Skew).Microseconds(), Skew: o.Skew.Microseconds(), TTL: o.TTL.Microseconds(),
		},
		MinWorker: o.MinWorker, MaxWorker: o.MaxWorker, Label: o.Label, MaxBlocked: 2 * o.Window, Logger: logger, Clock: clock,
	}
}

// ordersEnv is the environment variable that turns a process into a worker.
const ordersEnv = "SNOWKEY_CHAOS_WORKER"

// A worker writes lines that start with one of these letters. Lines have to be short
// enough for the pipe to take each of them as a whole, even when the worker is killed.
const (
	lineRun  = "s" // number of the grant, first id, last id, and in µs since 1970, when the last id was drawn and the last grant received
	lineBad  = "b" // something that must not happen
	lineNote = "n" // anything else that happens
	lineDone = "r" // the response to a command
)

// A worker exits with this status if it is refused because of its clock.
const statusClock = 3

type worker struct {
	ahead    atomic.Int64 // of the clock
	released atomic.Bool  // set once Close has returned
	lease    recorder

	first, last    int64 // of the run that hasn't been reported yet; first is above last if there's nothing
	grant          int   // its number; 0 before the first run
	drawn, granted int64
	said           string // the last error that we noted

	writing sync.Mutex
}

// Work is everything that a worker process does. It reads the commands "clock <how far
// ahead>" and "close" from its standard input, and exits when that is closed.
func Work() {
	var o Orders
	w := &worker{first: 1}
	w.lease.note = func(format string, args ...any) {
		w.say(lineNote, time.Now().Format("15:04:05.000000 ")+format, args...)
	}
	if err := json.Unmarshal([]byte(os.Getenv(ordersEnv)), &o); err != nil {
		w.fail(2, err)
	}
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
	pool, err := w.open(ctx, store, o)
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
		w.say(lineNote, "close: %v", err)
	}
}

// clock is the clock of the process.
func (w *worker) clock() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// open does the same as snowkey.Open, but puts a recorder between the lease and the
// pool.
func (w *worker) open(ctx context.Context, store lease.Store, o Orders) (*idgen.Pool, error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	layout, bits := o.layout()
	return idgen.NewLeased(idgen.Config{Layout: layout, Clock: w.clock, Logger: logger}, func(issuer leased.Issuer) (leased.Keeper, error) {
		w.lease.Issuer, w.lease.bits = issuer, bits
		return keeper.Open(ctx, store, &w.lease, o.config(w.clock, logger))
	})
}

// draw keeps drawing ids until the pool is closed.
func (w *worker) draw(pool *idgen.Pool, rate int) {
	most := min(4096, rate/50)
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
			if text := err.Error(); text != w.said {
				w.said = text
				w.say(lineNote, "%s", text)
			}
			time.Sleep(5 * time.Millisecond)
		} else {
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
		w.say(lineBad, "an id after Close returned")
	}
	for i, rest := 1, ids; len(rest) > 0; i, rest = 1, rest[i:] {
		for i < len(rest) && rest[i] == rest[i-1]+1 {
			i++
		}
		w.add(rest[0], rest[i-1], grants)
		w.drawn, w.granted = time.Now().UnixMicro(), at.UnixMicro()
	}
	return ids, err
}

// add continues the last run with consecutive ids. If that isn't possible, it reports the
// run and starts a new one. It must be passed the number of grants before the call.
func (w *worker) add(first, last int64, grants int) {
	grant := w.lease.grantOf(first, last, grants)
	same := grant == w.grant
	if same && first <= w.last {
		// Under a single grant, ids must ascend. If a later grant allows these ids too,
		// they must belong to that one.
		if later := w.lease.grantOf(first, last, grant+1); later != 0 {
			grant, same = later, false
		}
	}
	if grant == 0 {
		w.say(lineBad, "ids %d to %d are outside of every grant", first, last)
	} else if same && first <= w.last {
		w.say(lineBad, "id %d after %d under grant %d", first, w.last, grant)
	}
	if same && first == w.last+1 {
		w.last = last
		return
	}
	w.flush()
	w.first, w.last, w.grant = first, last, grant
}

// flush reports what hasn't been reported of the last run.
func (w *worker) flush() {
	if w.first <= w.last {
		w.say(lineRun, "%d %d %d %d %d", w.grant, w.first, w.last, w.drawn, w.granted)
		w.first = w.last + 1
	}
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

func (w *worker) say(kind, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := fmt.Printf("%s %.1000s\n", kind, text); err != nil {
		os.Exit(2) // the test has ended
	}
}

func (w *worker) fail(status int, err error) {
	w.say(lineNote, "%v", err)
	os.Exit(status)
}

// A thief is a store that grants every claim without executing a statement. Two
// processes using it lease the same worker number, and therefore issue the same ids.
type thief struct{ lease.Store }

func (s *thief) Claim(_ context.Context, c lease.Claim) (lease.Row, bool, error) {
	row := c.Seen
	row.Token, row.Bound = c.Token, c.Terms.At(c.Seen.Now).Cap
	return row, true, nil
}
