//go:build unix

package chaos

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// A fleet is a number of worker processes, and what they have drawn.
type fleet struct {
	t       dbtest.TB
	orders  Orders // for each process, except for the label
	backend backend
	server  server
	dir     string // for the evidence
	check   *checker
	all     []*process // that were started

	mu  sync.Mutex
	bad []string // things that happened but must not
}

// patience is how long to wait for something that takes a second on a machine at rest.
const patience = 3 * time.Minute

// save writes the evidence of a failure: all runs, duplicates and rows, and the fence.
func (f *fleet) save() {
	runs := dbtest.Must(os.Create(filepath.Join(f.dir, "runs.txt")))(f.t)
	f.check.write(runs)
	duplicates, _, _ := f.check.check()
	fmt.Fprintln(runs, strings.Join(duplicates, "\n"))
	dbtest.NoError(f.t, runs.Close())
	store := dbtest.Must(f.backend.open(f.server.text, time.Now))(f.t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	terms := f.orders.config(nil, nil).Terms
	probe := dbtest.Must(store.Probe(ctx, lease.Query{Terms: terms}))(f.t)
	rows := dbtest.Must(store.Rows(ctx, terms, f.orders.MinWorker, f.orders.MaxWorker))(f.t)
	dbtest.NoError(f.t, os.WriteFile(filepath.Join(f.dir, "rows.txt"), fmt.Appendf(nil, "%+v\n%+v\n", probe, rows), 0o644))
}

// A process is one process of a fleet.
type process struct {
	fleet    *fleet
	label    string
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	log      *os.File      // what the process logs, and what the test notes about it
	done     chan struct{} // closed once it has ended and its journal is complete
	answered chan struct{} // receives one element for each command

	mu      sync.Mutex
	drawn   time.Time // when its latest ids were drawn
	granted time.Time // when the grant before these was received or extended
	resumed time.Time // when it started to draw ids again after a gap
}

// start starts another worker. change may be nil.
func (f *fleet) start(change func(*Orders)) *process {
	f.t.Helper()
	o := f.orders
	o.Label = fmt.Sprint("process ", len(f.all)+1)
	if change != nil {
		change(&o)
	}
	p := &process{fleet: f, label: o.Label, done: make(chan struct{}), answered: make(chan struct{}, 1)}
	p.log = dbtest.Must(os.OpenFile(filepath.Join(f.dir, o.Label+".log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644))(f.t)
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), ordersEnv+"="+string(dbtest.Must(json.Marshal(o))(f.t)), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = p.log
	p.stdin = dbtest.Must(p.cmd.StdinPipe())(f.t)
	out := dbtest.Must(p.cmd.StdoutPipe())(f.t)
	dbtest.NoError(f.t, p.cmd.Start())
	f.all = append(f.all, p)
	o.Store = "" // it may contain a password
	p.remark(fmt.Sprintf("pid %d, started %s, orders %+v", p.cmd.Process.Pid, time.Now().Format(time.RFC3339Nano), o))
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.hear(lines.Text())
		}
		p.cmd.Wait()
		p.remark(fmt.Sprintf("ended %s, %v", time.Now().Format(time.RFC3339Nano), p.cmd.ProcessState))
		p.log.Close()
	}()
	return p
}

// hear handles a line that the worker has written.
func (p *process) hear(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case lineRun:
		r, drawn, granted := run{by: grant{process: p.label}}, int64(0), int64(0)
		_, err := fmt.Sscan(rest, &r.by.number, &r.first, &r.last, &drawn, &granted)
		if err = cmp.Or(err, p.fleet.check.add(r)); err != nil {
			p.fleet.complain(fmt.Sprintf("%s wrote %q: %v", p.label, line, err))
		}
		p.draw(time.UnixMicro(drawn), time.UnixMicro(granted))
	case lineDone:
		p.answered <- struct{}{}
	case lineNote:
		p.remark(rest)
	default:
		p.remark("BAD: " + rest)
		p.fleet.complain(p.label + ": " + rest)
	}
}

// draw notes when ids were drawn, and when the grant before these was received or extended.
func (p *process) draw(drawn, granted time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const gap = 250 * time.Millisecond
	if drawn.Sub(p.drawn) > gap {
		p.resumed = drawn
	}
	p.drawn, p.granted = drawn, granted
}

// remark adds a line for human readers to the log of the process.
func (p *process) remark(text string) { fmt.Fprintln(p.log, "#", text) }

func (f *fleet) complain(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = append(f.bad, text)
}

// kill ends the process as kill -9 does, which works even if it's stopped.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.stdin.Close()
	<-p.done
}

// close makes the process release its worker number and exit.
func (p *process) close() error { return p.command("close", p.done) }

// command sends a command, and waits until the process has done it.
func (p *process) command(text string, done <-chan struct{}) error {
	if _, err := io.WriteString(p.stdin, text+"\n"); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s does not obey %q", p.label, text)
	}
}

// logged returns what the process has logged so far.
func (p *process) logged() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		p.fleet.complain(err.Error())
	}
	return string(text)
}

// drewSince reports whether the process has drawn ids since t.
func (p *process) drewSince(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.After(t)
}

// recovered reports whether the process has drawn ids under a grant that was received
// or extended after t. If so, flow is when it began to draw ids without a gap.
func (p *process) recovered(t time.Time) (ok bool, flow time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if flow = t; p.resumed.After(t) {
		flow = p.resumed
	}
	return p.drawn.After(t) && p.granted.After(t), flow
}
