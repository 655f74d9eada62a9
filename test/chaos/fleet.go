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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A fleet is a number of worker processes, and what they have drawn.
type fleet struct {
	orders  Orders // for each process, except for the label
	backend backend
	server  server
	dir     string // for the evidence
	check   *checker

	mu      sync.Mutex
	all     []*process
	started int
	bad     []string // things that happened but must not
}

// patience is how long to wait for something that takes a second on a machine at rest.
const patience = 3 * time.Minute

// save writes the evidence of a failure: all runs, duplicates and rows, and the fence.
func (f *fleet) save() error {
	runs, err1 := os.Create(filepath.Join(f.dir, "runs.txt"))
	rows, err2 := os.Create(filepath.Join(f.dir, "rows.txt"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	f.check.write(runs)
	duplicates, _, _ := f.check.check()
	fmt.Fprintln(runs, strings.Join(duplicates, "\n"))
	store, err := f.backend.open(f.server.text, time.Now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	terms := f.orders.config(nil, nil).Terms
	probe, err1 := store.Probe(ctx, lease.Query{Terms: terms})
	all, err2 := store.Rows(ctx, terms, f.orders.MinWorker, f.orders.MaxWorker)
	fmt.Fprintf(rows, "%+v\n%+v\n", probe, all)
	return errors.Join(err1, err2, runs.Close(), rows.Close())
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
func (f *fleet) start(change func(*Orders)) (*process, error) {
	f.mu.Lock()
	f.started++
	o := f.orders
	o.Label = fmt.Sprint("process ", f.started)
	f.mu.Unlock()
	if change != nil {
		change(&o)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{fleet: f, label: o.Label, done: make(chan struct{}), answered: make(chan struct{}, 1)}
	if p.log, err = os.OpenFile(filepath.Join(f.dir, o.Label+".log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644); err != nil {
		return nil, err
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), ordersEnv+"="+string(text), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = p.log
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.all = append(f.all, p)
	f.mu.Unlock()
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
	return p, nil
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
