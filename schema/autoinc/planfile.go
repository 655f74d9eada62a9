package autoinc

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// A plan is stored as SQL with comments. Each statement is enclosed by its header and a
// line that marks its end. This way no name, comment or string in a statement can be
// mistaken for a header:
//
//	-- snowkey migration plan 2
//	-- sum: the SHA-256 of all lines that follow
//	-- | the first page: what happens to each table, and what people have to do
//	-- dialect: postgres
//	…
//
//	-- phase: widen
//	-- note: what it is for
//
//	-- step: widen/1
//	-- text: what it does
//	-- locks: …
//	-- undo: CREATE VIEW …
//	-- undo+: the next line of this statement
//	ALTER TABLE …;
//	-- end: widen/1
const planTitle = "-- snowkey migration plan 2"

// more is the header of the next line of an undo statement.
const more = "undo+"

// WriteText writes the plan as an SQL file for a reviewer. Use [ReadPlan] to read it
// back.
//
// To undo a step by hand, first undo all later steps. Then execute the statements of its
// lines before, undo and after, in this order. A line undo+ continues the one above it.
// Replace each value after /* counted */ by what the last Count has found, which is in the
// column detail of the table snowkey_migration.
func (p *Plan) WriteText(w io.Writer) error {
	body, err := p.body()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n-- sum: %s\n%s", planTitle, sum(body), body)
	return err
}

// sum returns the plan's checksum, which identifies the plan.
func (p *Plan) sum() (string, error) {
	body, err := p.body()
	return sum(body), err
}

func sum(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

func (p *Plan) body() ([]byte, error) {
	var b bytes.Buffer
	var wrong error
	header := func(name, value string) {
		if strings.ContainsAny(value, "\n\r") {
			wrong = fmt.Errorf("autoinc: the plan's %s %q is more than a line", name, value)
		}
		fmt.Fprintf(&b, "-- %s: %s\n", name, value)
	}
	given := func(name, value string) {
		if value != "" {
			header(name, value)
		}
	}
	for _, line := range p.page() {
		b.WriteString(line + "\n")
	}
	header("dialect", string(p.Dialect))
	header("version", p.Version)
	header("database", strconv.Quote(p.Database))
	header("online", strconv.FormatBool(p.Online))
	given("default", p.Default)
	header("floor", strconv.FormatInt(p.Floor, 10))
	data := func(name string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			wrong = fmt.Errorf("autoinc: %w", err)
		}
		header(name, string(text))
	}
	data("progress", p.Progress)
	for _, fk := range p.children {
		data("child", fk)
	}
	for _, column := range p.notChildren {
		data("not-child", column)
	}
	for _, k := range p.keys {
		data("key", k)
	}
	for _, t := range p.sizes {
		data("size", t)
	}
	if p.rate > 0 {
		header("rate", strconv.FormatInt(p.rate, 10))
	}
	for _, phase := range p.Phases {
		b.WriteString("\n")
		header("phase", string(phase.Name))
		for _, note := range phase.Notes {
			header("note", note)
		}
		for _, s := range phase.Steps {
			b.WriteString("\n")
			header("step", s.ID)
			header("text", s.Text)
			header("run", s.Run)
			if s.Unit != 0 {
				header("transaction", strconv.Itoa(s.Unit))
			}
			given("locks", s.Locks)
			given("rewrites", s.Rewrites)
			for _, sql := range s.Undo {
				for i, line := range strings.Split(sql, "\n") {
					header([]string{"undo", more}[min(i, 1)], line)
				}
			}
			for _, sql := range s.UndoChecks {
				header("undo-check", sql)
			}
			given("remedy", s.Remedy)
			for _, sql := range s.Before {
				header("before", sql)
			}
			for _, sql := range s.After {
				header("after", sql)
			}
			given("done", s.Done)
			if s.Lasting {
				header("lasting", "true")
			}
			given("retry", s.Retry)
			given("size", s.Size)
			end := "-- end: " + s.ID
			if s.SQL == "" || strings.HasPrefix(s.SQL, "-- ") || slices.Contains(strings.Split(s.SQL, "\n"), end) {
				wrong = fmt.Errorf("autoinc: the SQL of step %s cannot be told from the comments around it", s.ID)
			}
			fmt.Fprintf(&b, "%s;\n%s\n", s.SQL, end)
		}
	}
	return b.Bytes(), wrong
}

// ReadPlan reads a file written by [Plan.WriteText]. It returns an error that wraps
// [ErrPlan] if the file has been edited since.
func ReadPlan(r io.Reader) (*Plan, error) {
	input := bufio.NewReader(r)
	line := func() (string, error) {
		text, err := input.ReadString('\n')
		return strings.TrimSuffix(text, "\n"), err
	}
	title, err := line()
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("autoinc: %w", err)
	}
	if title != planTitle {
		return nil, fail(ErrPlan, "this is not a plan of this version, which begins with %s; plan again", planTitle)
	}
	first, err := line()
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("autoinc: %w", err)
	}
	body, err := io.ReadAll(input)
	if err != nil {
		return nil, fmt.Errorf("autoinc: %w", err)
	}
	if first != "-- sum: "+sum(body) {
		return nil, fail(ErrPlan, "the plan is not as it was written: its sum differs; plan again, and leave the file as it is; leave out tables with Except (--except), or run statements of your own beside it")
	}
	p, err := parsePlan(string(body))
	if err != nil {
		return nil, fail(ErrPlan, "%v; plan again", err)
	}
	// If writing the plan again gives anything else, we have misread it.
	if again, err := p.body(); err != nil || !bytes.Equal(again, body) {
		return nil, fail(ErrPlan, "the plan is not one that this version writes; plan again")
	}
	return p, nil
}

func parsePlan(body string) (*Plan, error) {
	p := new(Plan)
	var step *Step
	var sql []string // lines of the current step; nil until its header ends
	phase := func() *Phase {
		if len(p.Phases) == 0 {
			p.Phases = append(p.Phases, Phase{})
		}
		return &p.Phases[len(p.Phases)-1]
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		if step != nil && (len(sql) > 0 || !strings.HasPrefix(text, "-- ")) {
			if text != "-- end: "+step.ID {
				sql = append(sql, text)
				continue
			}
			step.SQL = strings.TrimSuffix(strings.Join(sql, "\n"), ";")
			phase().Steps = append(phase().Steps, *step)
			step, sql = nil, nil
			continue
		}
		if text == "" || strings.HasPrefix(text, pageMark) { // which is written from the rest
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "-- "), ": ")
		if !ok {
			return nil, fmt.Errorf("the line %q of the plan is no header", text)
		}
		var err error
		switch {
		case step != nil:
			err = step.parse(name, value)
		case name == "step":
			step = &Step{ID: value}
		case name == "phase":
			p.Phases = append(p.Phases, Phase{Name: PhaseName(value)})
		case name == "note":
			phase().Notes = append(phase().Notes, value)
		default:
			err = p.parse(name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("the line %q of the plan: %w", text, err)
		}
	}
	return p, nil
}

func (p *Plan) parse(name, value string) (err error) {
	switch name {
	case "dialect":
		p.Dialect = catalog.Dialect(value)
	case "version":
		p.Version = value
	case "database":
		p.Database, err = strconv.Unquote(value)
	case "online":
		p.Online, err = strconv.ParseBool(value)
	case "default":
		p.Default = value
	case "floor":
		p.Floor, err = strconv.ParseInt(value, 10, 64)
	case "progress":
		err = json.Unmarshal([]byte(value), &p.Progress)
	case "child":
		var fk catalog.ForeignKey
		err = json.Unmarshal([]byte(value), &fk)
		p.children = append(p.children, fk)
	case "not-child":
		var column catalog.Column
		err = json.Unmarshal([]byte(value), &column)
		p.notChildren = append(p.notChildren, column)
	case "size":
		var t tableSize
		err = json.Unmarshal([]byte(value), &t)
		p.sizes = append(p.sizes, t)
	case "rate":
		p.rate, err = strconv.ParseInt(value, 10, 64)
	case "key":
		var k plannedKey
		err = json.Unmarshal([]byte(value), &k)
		p.add(k)
	default:
		err = fmt.Errorf("there is no header %q", name)
	}
	return err
}

func (s *Step) parse(name, value string) (err error) {
	switch name {
	case "text":
		s.Text = value
	case "run":
		s.Run = value
	case "transaction":
		s.Unit, err = strconv.Atoi(value)
	case "locks":
		s.Locks = value
	case "rewrites":
		s.Rewrites = value
	case "undo":
		s.Undo = append(s.Undo, value)
	case more:
		if len(s.Undo) == 0 {
			return fmt.Errorf("nothing is before it")
		}
		s.Undo[len(s.Undo)-1] += "\n" + value
	case "undo-check":
		s.UndoChecks = append(s.UndoChecks, value)
	case "remedy":
		s.Remedy = value
	case "before":
		s.Before = append(s.Before, value)
	case "after":
		s.After = append(s.After, value)
	case "done":
		s.Done = value
	case "lasting":
		s.Lasting, err = strconv.ParseBool(value)
	case "retry":
		s.Retry = value
	case "size":
		s.Size = value
	default:
		err = fmt.Errorf("a step has no header %q", name)
	}
	return err
}
