package main

import (
	"encoding"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v5"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

var update = flag.Bool("update", false, "write the tables of README.md anew")

const page, tables = "../../docs/web.md", "README.md"

// These ids differ by one, and since they are above 2^53, they are equal as float64.
const (
	low  = 1234567890123456788
	high = 1234567890123456789
)

// A request is what a handler binds. It has the tags of all frameworks.
type request[K any] struct {
	ID K `json:"id" form:"id" uri:"id" query:"id" param:"id"`
}

// A quoted request has the tag that makes programs write an int64 as a JSON string. It
// points to the key of the request.
type quoted[K any] struct {
	ID *K `json:"id,string"`
}

// A target contains a single key, in each of the forms that can be read into.
type target struct {
	id      any // *K
	request any // *request[K], which holds id
	quoted  any // *quoted[K], which points to id

	queryParam func(*echo.Context) error // reads id with echo.QueryParam[K]
}

// User is an entity to test typed keys with.
type User struct{ ID pk.Of[User] }

func (User) Prefix() string { return "user" }

// A kind is one type of key. All kinds that share a column must behave alike.
type kind struct {
	column string
	name   string
	target func() target
	spell  func(int64) string // how a client writes the key, and how it prints
}

func kindOf[K any](column string, spell func(int64) string) kind {
	return kind{column, reflect.TypeFor[K]().String(), func() target {
		r := new(request[K])
		return target{&r.ID, r, &quoted[K]{&r.ID}, func(c *echo.Context) (err error) {
			r.ID, err = echo.QueryParam[K](c, "id")
			return err
		}}
	}, spell}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

var kinds = []kind{
	kindOf[int64]("`int64`", decimal),
	kindOf[string]("`string`", decimal),
	kindOf[pk.ID]("`pk.ID`, `pk.Text`, `pk.Of`", decimal),
	kindOf[pk.Text]("`pk.ID`, `pk.Text`, `pk.Of`", decimal),
	kindOf[pk.Of[User]]("`pk.ID`, `pk.Text`, `pk.Of`", decimal),
	kindOf[pk.String]("`pk.String`", decimal),
	kindOf[pk.SortText]("`pk.SortText`", func(n int64) string { return pk.SortText(n).String() }),
	kindOf[pk.Prefixed[User]]("`pk.Prefixed`, `public.ID`", func(n int64) string { return pk.Prefixed[User](n).String() }),
	kindOf[public.ID[User]]("`pk.Prefixed`, `public.ID`", func(n int64) string { return public.ID[User](n).String() }),
}

// A bad id either isn't a key at all, or isn't in its canonical spelling. The tests
// send it in quotes through every edge, and as a number through those edges that have
// numbers.
type bad struct {
	text   string
	number bool   // whether it is a valid JSON number
	means  string // what a lenient reader takes it for
}

var bads = []bad{
	{"12x", false, ""},
	{"", false, ""},
	{"9223372036854775808", true, ""},
	{"1e3", true, "1000"},
	{"-1", true, "-1"},
	{" 7", false, "7"},
	{"007", false, "7"},
}

// An edge is a format or a framework through which keys enter a program.
type edge struct {
	name    string
	numbers bool                       // ids are bare numbers rather than text
	wire    func(text string) string   // what the client sends
	nothing string                     // what the client sends to leave the id out; empty if it can't
	lenient bool                       // whether empty text means that the id was left out
	read    func(target, string) error // reads what was sent into the target
}

// errNoWay means that the edge can't read this type at all.
var errNoWay = errors.New("no such way")

const nothing = "nothing" // stands for an id that was left out, in a cell

// cell summarizes the edge's results for one kind of key.
func (e edge) cell(t *testing.T, k kind) string {
	read := func(wire string) (string, bool, error) {
		in := k.target()
		err := e.read(in, wire)
		id := reflect.ValueOf(in.id).Elem()
		return fmt.Sprint(id), id.IsZero(), err
	}
	var refused int
	var rounded []string
	for _, n := range []int64{low, high} {
		text := k.spell(n)
		if e.numbers {
			text = decimal(n)
		}
		switch got, _, err := read(e.wire(text)); {
		case errors.Is(err, errNoWay):
			return "–"
		case err != nil:
			refused++
		case got != k.spell(n):
			rounded = append(rounded, got)
		}
	}
	switch {
	case refused == 2:
		return "refuses every id"
	case refused > 0 || len(rounded) == 1:
		return "**keeps one id and not the other**"
	case len(rounded) == 2:
		return "**rounds**: both are " + rounded[0]
	}

	var zero, taken, wrong, refusals []string
	try := func(name, wire, means string) {
		switch got, isZero, err := read(wire); {
		case err != nil:
			refusals = append(refusals, name)
		case isZero && k.name != "string":
			if strings.Contains(k.name, ".") && k.name != "pk.String" && name != nothing && !e.lenient {
				t.Errorf("%s makes 0 of %s, in a %s", e.name, name, k.name)
			}
			zero = append(zero, name)
		case got == means:
			taken = append(taken, name)
		default:
			wrong = append(wrong, name+" as "+got)
		}
	}
	for _, b := range bads {
		if e.numbers && !b.number {
			continue
		}
		if k.name == "string" {
			b.means = b.text
		}
		name := "`" + b.text + "`"
		if b.text == "" || b.text[0] == ' ' {
			name = "`\"" + b.text + "\"`"
		}
		try(name, e.wire(b.text), b.means)
	}
	if e.nothing != "" {
		try(nothing, e.nothing, "")
	}
	return verdict(k, zero, taken, wrong, refusals)
}

// verdict summarizes the results for the bad ids.
func verdict(k kind, zero, taken, wrong, refusals []string) string {
	list := func(names []string) string { return strings.Join(names, ", ") }
	var said []string
	if len(wrong) > 0 {
		said = append(said, "**takes "+list(wrong)+"**")
	}
	if len(zero) > 0 {
		value := "**0**"
		if k.name == "pk.String" {
			value = `""`
		}
		said = append(said, list(zero)+" → "+value)
	}
	switch {
	case len(taken) == 0:
	case k.name != "string":
		said = append(said, "takes "+list(taken))
	case len(refusals) == 0:
		said = append(said, "takes all")
	default:
		said = append(said, "takes all but "+list(refusals))
	}
	if len(said) == 0 {
		return "refuses all"
	}
	return strings.Join(said, "; ")
}

// checkTable compares the results of the edges with the test's table in README.md.
func checkTable(t *testing.T, edges []edge) {
	t.Helper()
	var columns []string
	for _, k := range kinds {
		if !slices.Contains(columns, k.column) {
			columns = append(columns, k.column)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)+1))
	for _, e := range edges {
		cells := make(map[string]string)
		for _, k := range kinds {
			cell := e.cell(t, k)
			if other, ok := cells[k.column]; ok && other != cell {
				t.Errorf("%s, %s: %s, unlike the others of its column: %s", e.name, k.name, cell, other)
			}
			cells[k.column] = cell
		}
		fmt.Fprintf(&b, "| %s", e.name)
		for _, column := range columns {
			fmt.Fprintf(&b, " | %s", cells[column])
		}
		b.WriteString(" |\n")
	}

	text := errtest.Must(os.ReadFile(tables))(t)
	from, to := "<!-- table of "+t.Name()+" -->\n", "<!-- end -->\n"
	before, rest, ok1 := strings.Cut(string(text), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table, between %q and %q", tables, from, to)
	}
	if *update {
		errtest.NoError(t, os.WriteFile(tables, []byte(before+from+b.String()+to+after), 0o644))
	} else if old != b.String() {
		t.Errorf("%s says\n%s\nand the tests\n%s\nrun them with -update", tables, old, &b)
	}
}

// setText parses text the way a program would do by hand. If it's an int64, this
// includes checking the error.
func setText(id any, text string) (err error) {
	switch id := id.(type) {
	case *int64:
		*id, err = strconv.ParseInt(text, 10, 64)
	case *string:
		*id = text
	case encoding.TextUnmarshaler:
		err = id.UnmarshalText([]byte(text))
	default:
		err = errNoWay
	}
	return err
}
