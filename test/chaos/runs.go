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
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Run is a range of consecutive counters of one worker number, all of which were
// drawn as ids. As in package lease, a counter is tick and sequence packed into one
// integer.
type Run struct {
	Worker      int64
	First, Last int64 // counters, inclusive
}

// count returns the number of ids in the run.
func (r Run) count() int64 { return r.Last - r.First + 1 }

// A numbering converts between ids and counters. It only supports layouts that have
// exactly three fields, namely time, worker and sequence. We deliberately don't share
// any code with idgen here, since that's what we want to test.
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

// id returns the id for a counter. Two ids are equal if and only if both their worker
// numbers and their counters are.
func (n numbering) id(worker, counter int64) int64 {
	return n.time.put(n.sequence.above(counter)) | n.worker.put(worker) | n.sequence.put(n.sequence.low(counter))
}

// split is the inverse of id. It returns false for ok if the number is not a valid id.
func (n numbering) split(id int64) (worker, counter int64, ok bool) {
	worker = n.worker.get(id)
	counter = n.time.get(id)<<n.sequence.bits | n.sequence.get(id)
	return worker, counter, id >= 0 && n.id(worker, counter) == id
}

// run returns the run that starts and ends with the given ids.
func (n numbering) run(first, last int64) (Run, error) {
	worker, from, ok := n.split(first)
	other, to, ok2 := n.split(last)
	if !ok || !ok2 || worker != other || to < from {
		return Run{}, fmt.Errorf("chaos: the ids %d and %d are not the ends of a run", first, last)
	}
	return Run{worker, from, to}, nil
}

// days has room for a run within a single day. It doesn't have enough to continue on
// that day after a process was killed, because such a process takes the rest of the day
// with it.
var days = func() idgen.Layout {
	epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := idgen.NewLayout(epoch, 24*time.Hour, idgen.Time(15), idgen.Worker(10), idgen.Sequence(32))
	if err != nil {
		panic(err)
	}
	return l
}()

// A Journal keeps the runs of one process in a file. It is safe for concurrent use.
type Journal struct {
	process string
	path    string
	numbers numbering

	mu    sync.Mutex
	file  *os.File // nil after Close
	out   *bufio.Writer
	size  int64
	last  Run   // the run added last, merged with the earlier runs that it continues
	wrote int64 // counters of last up to this one have been written to the file
	parts []part
}

// A part is a section of a journal. It contains the runs of one worker number and one
// grant, which must be disjoint and in ascending order.
type part struct {
	journal       *Journal
	worker, grant int64
	first, last   int64 // counters
	begin, end    int64 // offsets within the file
	ids, runs     int64 // number of them
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

// Add adds a run that was drawn under the grant with the given number. If the run
// continues the previous one, the two are merged.
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
		// Start a part here too if ids are out of order, because parts must always be
		// ordered.
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

// write writes that part of the last run which the file doesn't have yet.
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

// Note adds a remark for human readers.
func (j *Journal) Note(text string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(); err != nil {
		return err
	}
	return j.line("# " + strings.ReplaceAll(text, "\n", " "))
}

// flush writes everything to the file, and returns the parts that the file then has.
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

// Close closes the file, after which nothing can be added anymore.
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

// A cursor reads the runs of a part in order.
type cursor struct {
	*part
	Run
	file *os.File
	in   *bufio.Reader
	seen int64 // number of ids read so far
}

func (p *part) open() (*cursor, error) {
	file, err := os.Open(p.journal.path)
	if err != nil {
		return nil, err
	}
	return &cursor{part: p, file: file, in: bufio.NewReader(io.NewSectionReader(file, p.begin, p.end-p.begin))}, nil
}

// next reads the next run. Returns false if there are no more.
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
