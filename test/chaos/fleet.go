//go:build unix

package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A fleet is a number of worker processes, and what they have drawn.
type fleet struct {
	orders  Orders // for each process, except for the label
	backend backend
	server  server
	dir     string // for the evidence
	check   *Checker

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
	found, _ := f.check.Check()
	for _, d := range found {
		fmt.Fprintln(runs, d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(runs.Close(), f.dump(ctx, rows), rows.Close())
}

func (f *fleet) dump(ctx context.Context, w io.Writer) error {
	store, err := f.backend.open(f.server.text, time.Now)
	if err != nil {
		return err
	}
	layout := f.orders.layout()
	terms := lease.Terms{Namespace: "default", Layout: layout.String(), Epoch: layout.Epoch().UnixMicro(), Unit: layout.Unit().Microseconds(), PerTick: 1 << bitsOf(layout, "sequence")}
	p, err := store.Probe(ctx, lease.Query{Terms: terms})
	fmt.Fprintf(w, "%+v\n", p)
	rows, err2 := store.Rows(ctx, terms, f.orders.MinWorker, f.orders.MaxWorker)
	for _, r := range rows {
		fmt.Fprintf(w, "%+v\n", r)
	}
	return errors.Join(err, err2)
}

// A process is one process of a fleet.
type process struct {
	fleet    *fleet
	label    string
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	journal  *Journal
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
	p := &process{fleet: f, label: o.Label, journal: f.check.Journal(o.Label), done: make(chan struct{}), answered: make(chan struct{}, 1)}
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
		if err := p.add(rest); err != nil {
			p.fleet.complain(fmt.Sprintf("%s wrote %q: %v", p.label, line, err))
		}
	case lineGrant:
		p.remark(time.Now().Format("15:04:05.000000 ") + rest)
	case lineDone:
		p.answered <- struct{}{}
	case lineNote:
		p.remark(rest)
	default:
		p.remark("BAD: " + rest)
		p.fleet.complain(p.label + ": " + rest)
	}
}

// add handles a run.
func (p *process) add(rest string) error {
	fields := strings.Fields(rest)
	var n [5]int64
	if len(fields) != len(n) {
		return fmt.Errorf("not %d numbers", len(n))
	}
	for i, field := range fields {
		var err error
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return err
		}
	}
	if err := p.journal.Add(n[0], Run{n[1], n[2]}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	const gap = 250 * time.Millisecond
	drawn := time.UnixMicro(n[3])
	if drawn.Sub(p.drawn) > gap {
		p.resumed = drawn
	}
	p.drawn, p.granted = drawn, time.UnixMicro(n[4])
	return nil
}

// remark adds a line for human readers to the log of the process.
func (p *process) remark(text string) { fmt.Fprintln(p.log, "#", text) }

func (f *fleet) complain(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = append(f.bad, text)
}

// signal sends a signal, which should be one that a process can't ignore.
func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends the process as kill -9 does, which works even if it's stopped.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.stdin.Close()
	<-p.done
}

// close makes the process release its worker number and exit.
func (p *process) close() error {
	if _, err := io.WriteString(p.stdin, "close\n"); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s does not end", p.label)
	}
}

// command sends a command, and waits until the process has carried it out.
func (p *process) command(text string) error {
	if _, err := io.WriteString(p.stdin, text+"\n"); err != nil {
		return err
	}
	select {
	case <-p.answered:
		return nil
	case <-p.done:
		return fmt.Errorf("%s has ended", p.label)
	case <-time.After(patience):
		return fmt.Errorf("%s does not answer", p.label)
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
	if p.resumed.After(t) {
		flow = p.resumed
	} else {
		flow = t
	}
	return p.drawn.After(t) && p.granted.After(t), flow
}
