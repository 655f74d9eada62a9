//go:build unix

package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A fleet is worker processes and what they have drawn.
type fleet struct {
	orders Orders // of a process, but for what differs
	logs   string // a directory
	check  Checker

	mu      sync.Mutex
	all     []*process
	started int
	bad     []string // what workers said that must not be
	notes   map[string]int
}

var numbers = regexp.MustCompile(`[0-9][-0-9.:]*`)

// kindOf leaves out of a note what differs among its like, so that they are
// counted together.
func kindOf(note string) string {
	const most = 130
	note = numbers.ReplaceAllString(note, "#")
	return note[:min(len(note), most)]
}

// A process is one of a fleet.
type process struct {
	fleet *fleet
	label string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when it has ended and all its ids are with the checker

	mu       sync.Mutex
	lease    string
	span     Span
	drawn    time.Time // its last ids
	granted  time.Time // the last grant before
	resumed  time.Time // when ids flowed again after a gap
	answered chan int64
	ids      int64
}

// start runs one more worker. change may be nil.
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
	log, err := os.Create(filepath.Join(f.logs, o.Label))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{fleet: f, label: o.Label, done: make(chan struct{}), answered: make(chan int64, 1)}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), ordersEnv+"="+string(text), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = log
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
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.hear(lines.Text())
		}
		p.endSpan()
		p.cmd.Wait()
	}()
	return p, nil
}

// hear takes a line of the worker's.
func (p *process) hear(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case lineSpan:
		if err := p.extend(rest); err != nil {
			p.fleet.complain(fmt.Sprintf("%s wrote %q: %v", p.label, line, err))
		}
	case lineRenewals:
		n, _ := strconv.ParseInt(rest, 10, 64)
		p.answered <- n
	case lineNote:
		p.fleet.mu.Lock()
		p.fleet.notes[kindOf(rest)]++
		p.fleet.mu.Unlock()
	default:
		p.fleet.complain(p.label + ": " + rest)
	}
}

func (p *process) extend(rest string) error {
	fields := strings.Fields(rest)
	if len(fields) != 7 {
		return errors.New("not seven numbers")
	}
	var n [7]int64
	for i, field := range fields {
		var err error
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return err
		}
	}
	if fields[0] != p.lease {
		p.endSpan()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lease = fields[0]
	p.ids += n[4] - p.span.Count
	p.span = Span{Worker: n[1], First: n[2], Last: n[3], Count: n[4], Process: p.label}
	const gap = 250 * time.Millisecond
	drawn := time.UnixMicro(n[5])
	if drawn.Sub(p.drawn) > gap {
		p.resumed = drawn
	}
	p.drawn, p.granted = drawn, time.UnixMicro(n[6])
	return nil
}

// endSpan gives the span to the checker: nothing is added to it any more.
func (p *process) endSpan() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.span.Count > 0 {
		p.fleet.check.Add(p.span)
		p.span = Span{}
	}
}

func (f *fleet) complain(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = append(f.bad, text)
}

// signal sends one of the signals that cannot be refused.
func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends the process as kill -9 does, even if it is stopped.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.stdin.Close()
	<-p.done
}

// close has the process give its worker number back and end.
func (p *process) close() error {
	if _, err := io.WriteString(p.stdin, "close\n"); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("%s does not end", p.label)
	}
}

// command gives a command and returns how many renewals the process has had.
func (p *process) command(text string) (renewals int64, err error) {
	if _, err := io.WriteString(p.stdin, text+"\n"); err != nil {
		return 0, err
	}
	select {
	case renewals = <-p.answered:
		return renewals, nil
	case <-p.done:
		return 0, fmt.Errorf("%s has ended", p.label)
	case <-time.After(10 * time.Second):
		return 0, fmt.Errorf("%s does not answer", p.label)
	}
}

// drewSince reports whether the process has drawn ids since t.
func (p *process) drewSince(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.After(t)
}

// recovered reports whether the process has drawn ids under a grant that is
// younger than t, and when after t ids began to flow without a gap.
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
