package chaos

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Run is ids of one worker number whose counters are consecutive. Every one
// of them was drawn. A counter is tick and sequence packed, as in package lease.
type Run struct {
	Worker      int64
	First, Last int64 // counters, both included
}

// count returns how many ids a run has.
func (r Run) count() int64 { return r.Last - r.First + 1 }

// A numbering converts ids to counters and back. It knows layouts of three
// fields: time, worker and sequence. It shares no code with idgen, which is what
// the test tests.
type numbering struct{ time, worker, sequence field }

type field struct{ shift, bits int }

func (f field) get(id int64) int64  { return id >> f.shift & (1<<f.bits - 1) }
func (f field) put(v int64) int64   { return v << f.shift }
func (f field) low(v int64) int64   { return v & (1<<f.bits - 1) }
func (f field) above(v int64) int64 { return v >> f.bits }

func numberingOf(l idgen.Layout) numbering {
	var n numbering
	shift := 0
	for _, of := range slices.Backward(l.Fields()) {
		f := field{shift, of.Bits}
		shift += f.bits
		switch of.Name {
		case "time":
			n.time = f
		case "worker":
			n.worker = f
		case "sequence":
			n.sequence = f
		default:
			panic("chaos: cannot number a layout with the field " + of.Name)
		}
	}
	return n
}

// id returns the id of a counter. Two ids are equal if and only if worker and
// counter are.
func (n numbering) id(worker, counter int64) int64 {
	return n.time.put(n.sequence.above(counter)) | n.worker.put(worker) | n.sequence.put(n.sequence.low(counter))
}

// split is the inverse of id. It reports false for a number that is no id.
func (n numbering) split(id int64) (worker, counter int64, ok bool) {
	worker = n.worker.get(id)
	counter = n.time.get(id)<<n.sequence.bits | n.sequence.get(id)
	return worker, counter, id >= 0 && n.id(worker, counter) == id
}

// run returns the run between two ids.
func (n numbering) run(first, last int64) (Run, error) {
	worker, from, ok := n.split(first)
	other, to, ok2 := n.split(last)
	if !ok || !ok2 || worker != other || to < from {
		return Run{}, fmt.Errorf("chaos: the ids %d and %d are not the ends of a run", first, last)
	}
	return Run{worker, from, to}, nil
}

// A Journal keeps the runs of one process in a file. It is safe for concurrent
// use.
type Journal struct {
	process string
	path    string
	numbers numbering

	mu    sync.Mutex
	file  *os.File // nil after Close
	out   *bufio.Writer
	size  int64
	last  Run   // the run that was added last, and those before that it continues
	wrote int64 // counters of last up to this one are in the file
	parts []part
}

// A part is a piece of a journal: runs of one worker number and one grant, in
// ascending order and disjoint.
type part struct {
	journal       *Journal
	worker, grant int64
	first, last   int64 // counters
	begin, end    int64 // offsets in the file
	ids, runs     int64 // how many
}

func (p *part) String() string {
	return fmt.Sprintf("%s under its grant %d", p.journal.process, p.grant)
}

func newJournal(dir, process string, n numbering) (*Journal, error) {
	j := &Journal{process: process, path: filepath.Join(dir, process+".runs"), numbers: n}
	var err error
	if j.file, err = os.Create(j.path); err != nil {
		return nil, err
	}
	j.out = bufio.NewWriter(j.file)
	return j, nil
}

// Add adds a run that was drawn under the grant of that number. A run that
// continues the one before becomes a part of that.
func (j *Journal) Add(grant int64, r Run) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.First < 0 || r.Last < r.First {
		return fmt.Errorf("chaos: %s: no run can begin at counter %d and end at %d", j.process, r.First, r.Last)
	}
	p := j.part()
	switch {
	case p == nil || p.grant != grant || p.worker != r.Worker || r.First <= p.last:
		if err := j.write(); err != nil {
			return err
		}
		// Also where ids are out of order, so that parts always are in order.
		j.parts = append(j.parts, part{journal: j, worker: r.Worker, grant: grant, first: r.First, begin: j.size, end: j.size})
		p = j.part()
		j.last, j.wrote = r, r.First-1
	case r.First == p.last+1:
		j.last.Last = r.Last
	default:
		if err := j.write(); err != nil {
			return err
		}
		j.last, j.wrote = r, r.First-1
	}
	p.last = r.Last
	p.ids += r.count()
	return nil
}

func (j *Journal) part() *part {
	if len(j.parts) == 0 {
		return nil
	}
	return &j.parts[len(j.parts)-1]
}

// write writes what the file does not have of the last run.
func (j *Journal) write() error {
	p := j.part()
	if p == nil || j.wrote == j.last.Last {
		return nil
	}
	err := j.line(fmt.Sprint(j.numbers.id(p.worker, j.wrote+1), " ", j.numbers.id(p.worker, j.last.Last)))
	j.wrote, p.end = j.last.Last, j.size
	p.runs++
	return err
}

func (j *Journal) line(text string) error {
	if j.file == nil {
		return fmt.Errorf("chaos: the journal of %s is closed", j.process)
	}
	n, err := j.out.WriteString(text + "\n")
	j.size += int64(n)
	return err
}

// Note adds a remark for people.
func (j *Journal) Note(text string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(); err != nil {
		return err
	}
	return j.line("# " + strings.ReplaceAll(text, "\n", " "))
}

// flush writes everything to the file and returns the parts that it has.
func (j *Journal) flush() ([]part, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		if err := j.write(); err != nil {
			return nil, err
		}
		if err := j.out.Flush(); err != nil {
			return nil, err
		}
	}
	return append([]part(nil), j.parts...), nil
}

// Close closes the file. Nothing can be added any more.
func (j *Journal) Close() error {
	if _, err := j.flush(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	file := j.file
	if j.file, j.out = nil, nil; file == nil {
		return nil
	}
	return file.Close()
}

// A cursor reads the runs of a part.
type cursor struct {
	*part
	Run
	file *os.File
	in   *bufio.Reader
	seen int64 // how many ids were read
}

func (p *part) open() (*cursor, error) {
	file, err := os.Open(p.journal.path)
	if err != nil {
		return nil, err
	}
	return &cursor{part: p, file: file, in: bufio.NewReader(io.NewSectionReader(file, p.begin, p.end-p.begin))}, nil
}

// next reads the next run. It reports false at the end.
func (c *cursor) next() (bool, error) {
	for {
		line, err := c.in.ReadString('\n')
		if err == io.EOF && line == "" {
			if c.seen != c.ids {
				return false, fmt.Errorf("chaos: %s has %d ids, %d were written", c.file.Name(), c.seen, c.ids)
			}
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("chaos: %s: %w", c.file.Name(), err)
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		from, to, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		first, err1 := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		if err1 != nil || err2 != nil {
			return false, fmt.Errorf("chaos: %s has the line %q", c.file.Name(), line)
		}
		if c.Run, err = c.journal.numbers.run(first, last); err != nil {
			return false, err
		}
		c.seen += c.Run.count()
		return true, nil
	}
}
