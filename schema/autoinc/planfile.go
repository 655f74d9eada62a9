package autoinc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// A plan is stored as SQL with comments. Each statement is enclosed by its header and a
// line that marks its end. This way no name, comment or string in a statement can be
// mistaken for a header:
//
//	-- snowkey migration plan 3
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
const planTitle = "-- snowkey migration plan 3"

// more is added to the name of a header for each further line of its value.
const more = "+"

// A header is a line of a plan's file, or one for each element of a list.
type header struct {
	name  string
	field any // a pointer to the field of the plan or step
}

func (p *Plan) headers() []header {
	return []header{
		{"dialect", &p.Dialect}, {"version", &p.Version}, {"database", &p.Database}, {"online", &p.Online}, {"default", &p.Default}, {"floor", &p.Floor},
		{"progress", &p.progress}, {"rekey", &p.rekey}, {"child", &p.children}, {"not-child", &p.notChildren}, {"key", &p.keys}, {"reference", &p.references}, {"size", &p.sizes}, {"speed", &p.speed},
	}
}

func (p *Phase) headers() []header { return []header{{"phase", &p.Name}, {"note", &p.Notes}} }

func (s *Step) headers() []header {
	return []header{
		{"step", &s.ID}, {"text", &s.Text}, {"run", &s.Run}, {"transaction", &s.Unit}, {"locks", &s.Locks}, {"rewrites", &s.Rewrites}, {"copies", &s.Copies},
		{"undo", &s.Undo}, {"undo-check", &s.UndoChecks}, {"remedy", &s.Remedy}, {"before", &s.Before}, {"after", &s.After}, {"done", &s.Done},
		{"lasting", &s.Lasting}, {"retry", &s.Retry}, {"size", &s.Size},
	}
}

// write writes headers, except those whose field has the zero value.
func write(b *bytes.Buffer, headers []header) error {
	for _, h := range headers {
		values := []reflect.Value{reflect.ValueOf(h.field).Elem()}
		if list := values[0]; list.Kind() == reflect.Slice {
			values = nil
			for i := range list.Len() {
				values = append(values, list.Index(i))
			}
		}
		for _, value := range values {
			text := value.String()
			if value.Kind() != reflect.String {
				data, err := json.Marshal(value.Interface())
				if err != nil {
					return fmt.Errorf("autoinc: %w", err)
				}
				text = string(data)
			}
			if strings.Contains(text, "\r") {
				return fmt.Errorf("autoinc: the plan's %s %q has the end of a line that would hide it", h.name, text)
			}
			if !value.IsZero() {
				fmt.Fprintf(b, "-- %s: %s\n", h.name, strings.ReplaceAll(text, "\n", "\n-- "+h.name+more+": "))
			}
		}
	}
	return nil
}

// set sets the field that a line is about, if there is one.
func set(headers []header, name, text string) {
	name, further := strings.CutSuffix(name, more)
	i := slices.IndexFunc(headers, func(h header) bool { return h.name == name })
	if i < 0 {
		return
	}
	value := reflect.ValueOf(headers[i].field).Elem()
	if value.Kind() == reflect.Slice {
		if !further || value.Len() == 0 {
			value.Set(reflect.Append(value, reflect.Zero(value.Type().Elem())))
		}
		value = value.Index(value.Len() - 1)
	}
	switch {
	case value.Kind() == reflect.String && further:
		value.SetString(value.String() + "\n" + text)
	case value.Kind() == reflect.String:
		value.SetString(text)
	default:
		_ = json.Unmarshal([]byte(text), value.Addr().Interface()) // ReadPlan notices what isn't set
	}
}

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

// sum returns a plan's checksum, which identifies the plan.
func sum(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

func (p *Plan) body() ([]byte, error) {
	var b bytes.Buffer
	wrong := cmp.Or(pageText.Execute(&b, p.summary()), write(&b, p.headers()))
	for _, phase := range p.Phases {
		b.WriteString("\n")
		wrong = cmp.Or(wrong, write(&b, phase.headers()))
		for _, s := range phase.Steps {
			b.WriteString("\n")
			wrong = cmp.Or(wrong, write(&b, s.headers()))
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
	file, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("autoinc: %w", err)
	}
	title, rest, _ := strings.Cut(string(file), "\n")
	if title != planTitle {
		return nil, fail(ErrPlan, "this is not a plan of this version, which begins with %s; plan again", planTitle)
	}
	first, body, _ := strings.Cut(rest, "\n")
	if first != "-- sum: "+sum([]byte(body)) {
		return nil, fail(ErrPlan, "the plan is not as it was written: its sum differs; plan again, and leave the file as it is; leave out tables with Except (--except), or run statements of your own beside it")
	}
	p := parsePlan(body)
	// If writing the plan again gives anything else, we have misread it.
	if again, err := p.body(); err != nil || string(again) != body {
		return nil, fail(ErrPlan, "the plan is not one that this version writes; plan again")
	}
	return p, nil
}

func parsePlan(body string) *Plan {
	p := new(Plan)
	headers := p.headers() // of the plan, the phase or the step that is being read
	var step *Step         // until its end
	for text := range strings.SplitSeq(body, "\n") {
		line, isHeader := strings.CutPrefix(text, "-- ")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case step != nil && text == "-- end: "+step.ID:
			step.SQL = strings.TrimSuffix(step.SQL, ";\n")
			step, headers = nil, nil
			continue
		case step != nil && (step.SQL != "" || !isHeader):
			step.SQL += text + "\n"
			continue
		case name == "phase":
			p.Phases = append(p.Phases, Phase{})
			headers = p.Phases[len(p.Phases)-1].headers()
		case name == "step" && len(p.Phases) > 0:
			phase := &p.Phases[len(p.Phases)-1]
			phase.Steps = append(phase.Steps, Step{})
			step = &phase.Steps[len(phase.Steps)-1]
			headers = step.headers()
		}
		set(headers, name, value)
	}
	p.complete()
	return p
}
