package pk_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// These are consecutive keys above 2^53, which become equal as float64.
const (
	low  = 1234567890123456788
	high = 1234567890123456789
)

// The type parameter of Of may be the entity that holds the key.
type (
	user struct{ ID pk.Of[user] }
	post struct{ ID pk.Of[post] }
)

func (user) Prefix() string { return "user" }
func (post) Prefix() string { return "blog_post" }

// key has the methods that every type of the package has on its value, and pointer
// those that it has on its address.
type (
	key interface {
		comparable
		driver.Valuer
		encoding.TextAppender
		encoding.TextMarshaler
		json.Marshaler
		slog.LogValuer
		fmt.Stringer
		IsZero() bool
		MarshalGQL(io.Writer)
		GormDataType() string
	}
	pointer[K any] interface {
		*K
		sql.Scanner
		encoding.TextUnmarshaler
		json.Unmarshaler
		UnmarshalGQL(any) error
		UnmarshalParam(string) error
	}
)

// edges has the numbers around which a form or an encoding changes.
var edges = []int64{
	0, 1, 9, 10, 31, 32, 33, 1023, 1024, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<60 - 1, 1 << 60, low, high,
	999999999999999999, 1000000000000000000, math.MaxInt64 - 1, math.MaxInt64,
}

var negativeEdges = []int64{-1, -9, -10, -high, math.MinInt64 + 1, math.MinInt64}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// sortable returns the sortable form, as big.Int says.
func sortable(n int64) string { return crockford.text(uint64(n)) }

func TestID(t *testing.T) {
	spec[pk.ID, *pk.ID]{
		make: func(n int64) pk.ID { return pk.ID(n) }, text: decimal,
		value: func(n int64) driver.Value { return n }, negative: true, column: "bigint",
	}.run(t)
}

func TestOf(t *testing.T) {
	spec[pk.Of[user], *pk.Of[user]]{
		make: func(n int64) pk.Of[user] { return pk.Of[user](n) }, text: decimal,
		value: func(n int64) driver.Value { return n }, negative: true, column: "bigint",
	}.run(t)
}

func TestText(t *testing.T) {
	spec[pk.Text, *pk.Text]{
		make: func(n int64) pk.Text { return pk.Text(n) }, text: decimal,
		value: func(n int64) driver.Value { return decimal(n) }, negative: true, column: "varchar(20)",
	}.run(t)
}

func TestSortText(t *testing.T) {
	spec[pk.SortText, *pk.SortText]{
		make: func(n int64) pk.SortText { return pk.SortText(n) }, text: sortable,
		value: func(n int64) driver.Value { return sortable(n) }, column: "char(13)",
	}.run(t)
}

func TestPrefixed(t *testing.T) {
	spec[pk.Prefixed[user], *pk.Prefixed[user]]{
		make: func(n int64) pk.Prefixed[user] { return pk.Prefixed[user](n) }, text: func(n int64) string { return "user_" + sortable(n) },
		value: func(n int64) driver.Value { return n }, prefixed: true, column: "bigint",
	}.run(t)
}

func TestString(t *testing.T) {
	spec[pk.String, *pk.String]{
		make: func(n int64) pk.String { return pk.String(decimal(n)) }, text: decimal,
		value: func(n int64) driver.Value { return n }, negative: true, column: "bigint",
	}.run(t)
}

// A spec describes what one type promises, and run tests each promise.
type spec[K key, P pointer[K]] struct {
	make     func(int64) K
	text     func(int64) string       // what String, text and JSON (in quotes) should contain
	value    func(int64) driver.Value // what the database should receive
	negative bool                     // whether negative numbers can be written as text
	prefixed bool                     // whether JSON and GraphQL must refuse numbers
	column   string
}

func (s spec[K, P]) run(t *testing.T) {
	t.Run("RoundTrip", s.roundTrip)
	t.Run("Scan", s.scan)
	t.Run("ScanRefuses", s.scanRefuses)
	t.Run("TextRefuses", s.textRefuses)
	t.Run("JSONRefuses", s.jsonRefuses)
	t.Run("GraphQL", s.graphQL)
	t.Run("Encodings", s.encodings)
	t.Run("Allocations", s.allocations)
	if got := s.make(0).GormDataType(); got != s.column {
		t.Errorf("GormDataType() = %q, want %q", got, s.column)
	}
}

func (s spec[K, P]) roundTrip(t *testing.T) {
	numbers := edges
	if s.negative {
		numbers = slices.Concat(edges, negativeEdges)
	}
	for _, n := range numbers {
		k, text := s.make(n), s.text(n)
		marshaled, err := k.MarshalText()
		appended, err2 := k.AppendText([]byte("id="))
		object, err3 := k.MarshalJSON()
		value, err4 := k.Value()
		if err := errors.Join(err, err2, err3, err4); err != nil || value != s.value(n) || k.IsZero() != (n == 0) {
			t.Errorf("%d: %v, Value = %#v, want %#v, IsZero = %v", n, err, value, s.value(n), k.IsZero())
		}
		if k.String() != text || string(marshaled) != text || string(appended) != "id="+text || string(object) != `"`+text+`"` {
			t.Errorf("%d is written %q, %q, %q and %s, want %q", n, k, marshaled, appended, object, text)
		}
		if got := k.LogValue(); got.Kind() != slog.KindString || got.String() != text {
			t.Errorf("LogValue(%d) = %v, want the string %q", n, got, text)
		}

		// A String doesn't scan another String, which would be unchecked text.
		own, pointer := any(k), any(&k)
		if s, ok := own.(pk.String); ok {
			own, pointer = string(s), string(s)
		}
		for what, read := range map[string]func(P) error{
			"Scan(Value)":           func(p P) error { return p.Scan(value) },
			"Scan(int64)":           func(p P) error { return p.Scan(n) },
			"Scan([]byte)":          func(p P) error { return p.Scan([]byte(text)) },
			"Scan(string)":          func(p P) error { return p.Scan(text) },
			"Scan(pk.ID)":           func(p P) error { return p.Scan(pk.ID(n)) },
			"Scan(*pk.ID)":          func(p P) error { return p.Scan(new(pk.ID(n))) },
			"UnmarshalText":         func(p P) error { return p.UnmarshalText([]byte(text)) },
			"UnmarshalParam":        func(p P) error { return p.UnmarshalParam(text) },
			"UnmarshalJSON string":  func(p P) error { return p.UnmarshalJSON([]byte(`"` + text + `"`)) },
			"UnmarshalJSON integer": func(p P) error { return p.UnmarshalJSON([]byte(decimal(n))) },
			"UnmarshalGQL string":   func(p P) error { return p.UnmarshalGQL(text) },
			"UnmarshalGQL int64":    func(p P) error { return p.UnmarshalGQL(n) },
			"UnmarshalGQL number":   func(p P) error { return p.UnmarshalGQL(json.Number(decimal(n))) },
			"UnmarshalGQL own":      func(p P) error { return p.UnmarshalGQL(k) },
			"UnmarshalGQL *own":     func(p P) error { return p.UnmarshalGQL(&k) },
			"Scan(own)":             func(p P) error { return p.Scan(own) },
			"Scan(*own)":            func(p P) error { return p.Scan(pointer) },
		} {
			got, want := s.make(5), k
			err := read(P(&got))
			if s.prefixed && slices.Contains([]string{"UnmarshalJSON integer", "UnmarshalGQL int64", "UnmarshalGQL number"}, what) {
				mustRefuse(t, what, err)
				want = s.make(5)
			} else if err != nil {
				t.Errorf("%s of %d: %v", what, n, err)
			}
			if got != want {
				t.Errorf("%s of %d = %v, want %v", what, n, got, want)
			}
		}
	}
}

func (s spec[K, P]) scan(t *testing.T) {
	null := []any{nil, (*pk.ID)(nil)}
	if _, ok := any(*new(K)).(pk.String); !ok {
		null = append(null, (*K)(nil))
	}
	for _, src := range null {
		got := s.make(5)
		if err := P(&got).Scan(src); err != nil || got != *new(K) {
			t.Errorf("Scan(%T) = %v, %v, want the zero value", src, got, err)
		}
	}
	got := s.make(5)
	if err := P(&got).Scan(uint64(math.MaxInt64)); err != nil || got != s.make(math.MaxInt64) {
		t.Errorf("Scan(uint64) = %v, %v", got, err)
	}
	// Data from an existing table must survive, even if the form can't write it as
	// text.
	if err := P(&got).Scan(int64(-high)); err != nil || got != s.make(-high) {
		t.Errorf("Scan(%d) = %v, %v", int64(-high), got, err)
	}
}

// refuses checks that the key stays as it was if the input is refused.
func (s spec[K, P]) refuses(t *testing.T, what string, read func(P) error) {
	t.Helper()
	got := s.make(7)
	mustRefuse(t, what, read(P(&got)))
	if got != s.make(7) {
		t.Errorf("%s was refused and left %v", what, got)
	}
}

func (s spec[K, P]) scanRefuses(t *testing.T) {
	for _, src := range []any{
		float64(5), float32(5), math.NaN(), true, time.Now(), uint64(1 << 63), uint64(math.MaxUint64), struct{}{},
		big.NewInt(5), pk.Of[post](5), new(pk.Of[post](5)), []int64{5}, new(int64(5)),
		"", []byte{}, []byte(nil), " ", "5 x", "x", "5\x00", "5\n", " 5", strings.Repeat("5", 1<<20),
	} {
		s.refuses(t, fmt.Sprintf("Scan(%T %.20v)", src, src), func(p P) error { return p.Scan(src) })
	}
}

var badDecimal = []string{
	"", "-", "+", "+5", "-0", "00", "007", "-07", " 5", "5 ", "5\n", "\t5", "1.5", "5.0", "1e3", "1E3", ".5", "5.",
	"0x10", "0b1", "0o7", "1_000", "1,000", "--5", "5-", "NaN", "Inf", "null", "true", "٣", "５", "5\x00", "\x005", "\xff",
	"5:", "5/", ":", "/",
	"9223372036854775808", "-9223372036854775809", "9999999999999999999", "18446744073709551615",
	"18446744073709551616", "99999999999999999999", "100000000000000000000", "00000000000000000005",
}

var badSortable = []string{
	"", "0", "5", "128GGYHYYK08", "128GGYHYYK08N0", "0128GGYHYYK08N", " 28GGYHYYK08N", "128GGYHYYK08 ",
	"128ggyhyyk08n", "128GGYHYYK08n", "I28GGYHYYK08N", "128GGYHYYK0LN", "O28GGYHYYK08N", "128GGYHYYK0ON", "128GGYHYYK0UN",
	"128GG-YHYYK08", "-28GGYHYYK08N", "8000000000000", "FZZZZZZZZZZZZ", "ZZZZZZZZZZZZZ", "128GGYHYYK08\x00", "1\xff8GGYHYYK08N",
	"128GGYHYYK0８N", "1234567890123456789", "-1", "-123456789012",
}

func (s spec[K, P]) bad() []string {
	switch {
	case s.negative:
		return badDecimal
	case s.prefixed:
		return badPrefixed
	}
	return badSortable
}

var badPrefixed = func() (texts []string) {
	for _, text := range badSortable {
		texts = append(texts, text, "user_"+text)
	}
	for _, prefix := range []string{"", "_", "user", "user__", "User_", "USER_", "use_", "users_", "user-", "user:", "auser_", "user_user_", " user_", "blog_post_", "ｕser_"} {
		texts = append(texts, prefix+sortable(high))
	}
	return texts
}()

func (s spec[K, P]) textRefuses(t *testing.T) {
	for _, text := range append(s.bad(), strings.Repeat("9", 1<<20), strings.Repeat(`"`, 1<<20)) {
		if text == "" && any(*new(K)) == any(pk.String("")) {
			continue // for a String this is the zero value, see TestStringNull
		}
		s.refuses(t, fmt.Sprintf("UnmarshalText(%.40q)", text), func(p P) error { return p.UnmarshalText([]byte(text)) })
		s.refuses(t, fmt.Sprintf("UnmarshalParam(%.40q)", text), func(p P) error { return p.UnmarshalParam(text) })
	}
}

func (s spec[K, P]) jsonRefuses(t *testing.T) {
	bad := []string{
		`1.5`, `5.0`, `1e3`, `1E3`, `-0`, `9223372036854775808`, `-9223372036854775809`, `1e400`, `true`, `false`,
		`{}`, `{"id":5}`, `[]`, `[5]`, `"null"`, `"\u0035"`, `"5\n"`, `"\"5\""`,
	}
	for _, text := range s.bad() {
		bad = append(bad, string(errtest.Must(json.Marshal(text))(t)))
	}
	for _, in := range bad {
		s.refuses(t, "json.Unmarshal of "+in, func(p P) error { return json.Unmarshal([]byte(in), p) })
	}
	// A JSON decoder never passes any of these, but a direct caller might.
	for _, in := range []string{``, ` `, `"`, `""`, `5 `, ` 5`, `"5`, `5"`, `+5`, `05`, `nul`, "\x00", strings.Repeat("[", 1<<20)} {
		s.refuses(t, fmt.Sprintf("UnmarshalJSON of %.40s", in), func(p P) error { return p.UnmarshalJSON([]byte(in)) })
	}
}

func (s spec[K, P]) graphQL(t *testing.T) {
	var out bytes.Buffer
	s.make(high).MarshalGQL(&out)
	if want := `"` + s.text(high) + `"`; out.String() != want {
		t.Errorf("MarshalGQL wrote %s, want %s", &out, want)
	}
	got := s.make(7)
	if err := P(&got).UnmarshalGQL(nil); err != nil || got != s.make(7) {
		t.Errorf("UnmarshalGQL(nil) = %v, %v, want no change", got, err)
	}
	switch err := P(&got).UnmarshalGQL(math.MaxInt32); {
	case s.prefixed:
		mustRefuse(t, "UnmarshalGQL(int)", err)
	case err != nil || got != s.make(math.MaxInt32):
		t.Errorf("UnmarshalGQL(int) = %v, %v", got, err)
	}
	for _, v := range []any{
		5.0, true, []any{}, map[string]any{}, json.Number("1e3"), json.Number("1.5"), json.Number("-0"),
		json.Number(""), json.Number("9223372036854775808"), "+5", "", "1.5",
	} {
		s.refuses(t, fmt.Sprintf("UnmarshalGQL(%T %v)", v, v), func(p P) error { return p.UnmarshalGQL(v) })
	}
}

// encodings tests that encoders of the standard library use our methods. Package test/pk has
// sql.Null.
func (s spec[K, P]) encodings(t *testing.T) {
	type row struct {
		K    K  `json:"k" xml:"k,attr"`
		P    *K `json:"p" xml:"p"`
		Zero K  `json:"zero,omitzero" xml:"-"`
	}
	in := row{K: s.make(low), P: new(s.make(high))}
	for _, c := range []struct {
		want      string
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{
		{fmt.Sprintf(`{"k":"%s","p":"%s"}`, s.text(low), s.text(high)), json.Marshal, json.Unmarshal},
		{fmt.Sprintf(`<row k="%s"><p>%s</p></row>`, s.text(low), s.text(high)), xml.Marshal, xml.Unmarshal},
	} {
		text, err := c.marshal(in)
		if err != nil || string(text) != c.want {
			t.Errorf("wrote %s, %v, want %s", text, err, c.want)
		}
		var out row
		if err := c.unmarshal(text, &out); err != nil || out.K != in.K || out.P == nil || *out.P != *in.P {
			t.Errorf("%s became %+v, %v", text, out, err)
		}
	}
	out := in
	if err := json.Unmarshal([]byte(`{"k":null,"p":null}`), &out); err != nil || out.K != in.K || out.P != nil {
		t.Errorf("json null: got %+v, %v, want the key kept and the pointer nil", out, err)
	}

	text, err := json.Marshal(map[K]int{in.K: 1, *in.P: 2})
	if want := fmt.Sprintf(`{"%s":1,"%s":2}`, s.text(low), s.text(high)); err != nil || string(text) != want {
		t.Errorf("json.Marshal of a map = %s, %v, want %s", text, err, want)
	}
	back := map[K]int{}
	if err := json.Unmarshal(text, &back); err != nil || back[in.K] != 1 || back[*in.P] != 2 {
		t.Errorf("json.Unmarshal of a map = %v, %v", back, err)
	}
}

func (s spec[K, P]) allocations(t *testing.T) {
	k, buf := s.make(high), make([]byte, 0, 64)
	text, object := []byte(s.text(high)), []byte(`"`+s.text(high)+`"`)
	into := 0.0 // allocations of a parse; only String needs one, to keep its text
	if _, ok := any(k).(pk.String); ok {
		into = 1
	}
	var column any = text
	for _, c := range []struct {
		name string
		most float64
		do   func()
	}{
		{"AppendText", 0, func() { buf, _ = k.AppendText(buf[:0]) }},
		{"MarshalText", 1, func() { _, _ = k.MarshalText() }},
		{"String", 1, func() { _ = k.String() }},
		{"MarshalJSON", 1, func() { _, _ = k.MarshalJSON() }},
		{"UnmarshalText", into, func() { _ = P(&k).UnmarshalText(text) }},
		{"UnmarshalJSON", into, func() { _ = P(&k).UnmarshalJSON(object) }},
		{"Scan", into, func() { _ = P(&k).Scan(column) }},
	} {
		if got := testing.AllocsPerRun(100, c.do); got > c.most {
			t.Errorf("%s allocates %v times, want at most %v", c.name, got, c.most)
		}
	}
}

func mustRefuse(t *testing.T, what string, err error) {
	t.Helper()
	refused, ok := errors.AsType[*pk.Error](err)
	switch {
	case !ok:
		t.Errorf("%s: got error %v, want a *pk.Error", what, err)
	case !strings.HasPrefix(refused.Type, "pk.") || refused.Value == "" || refused.Reason == "":
		t.Errorf("%s: error says too little: %+v", what, refused)
	case len(refused.Error()) > 400:
		t.Errorf("%s: error has %d bytes", what, len(refused.Error()))
	}
}

func TestErrorMessages(t *testing.T) {
	var id pk.ID
	var of pk.Of[user]
	_, negative := pk.SortText(-5).Value()
	_, garbage := pk.String("abc").Value()
	_, short := pk.ParseSort("128GG")
	_, lower := pk.ParseSort("128ggyhyyk08n")
	_, long := pk.Parse(strings.Repeat("1", 1000))
	_, fullWidth := pk.Parse(strings.Repeat("５", 1000))
	for _, c := range []struct {
		err  error
		want string
	}{
		{id.Scan(1.5), `pk: pk.ID cannot hold float64(1.5): a float64 has lost digits above 2^53; select the column as BIGINT or text`},
		{id.Scan(uint64(1 << 63)), `pk: pk.ID cannot hold uint64(9223372036854775808): outside the range of int64; keys end at 9223372036854775807`},
		{id.Scan(time.Time{}), `pk: pk.ID cannot hold a time.Time: want an int64, text or NULL`},
		{of.Scan([]byte("007")), `pk: pk.Of[pk_test.user] cannot hold "007": want plain decimal such as "1234567890123456789": digits only, no leading zero`},
		{of.Scan(pk.Of[post](1)), `pk: pk.Of[pk_test.user] cannot hold a pk.Of[github.com/snowkey-go/snowkey/schema/pk_test.post]: want an int64, text or NULL`},
		{id.UnmarshalJSON([]byte(`1e3`)), `pk: pk.ID cannot hold "1e3": want a JSON string or integer without fraction or exponent, such as "1234567890123456789"`},
		{id.UnmarshalJSON([]byte(`"+5"`)), `pk: pk.ID cannot hold "+5": want plain decimal such as "1234567890123456789": digits only, no leading zero`},
		{negative, `pk: pk.SortText cannot hold int64(-5): sortable text has no negative numbers; store them with pk.ID or pk.Text`},
		{garbage, `pk: pk.String cannot hold "abc": want plain decimal such as "1234567890123456789": digits only, no leading zero`},
		{short, `pk: pk.SortText cannot hold "128GG": want 13 characters of 0-9 A-Z without I, L, O and U, such as "128GGYHYYK08N"`},
		{lower, `pk: pk.SortText cannot hold "128ggyhyyk08n": sortable text is upper case; convert it where it enters your program`},
		{long, `pk: pk.ID cannot hold "11111111111111111111111111111111"…: outside the range of int64; keys end at 9223372036854775807`},
		{fullWidth, `pk: pk.ID cannot hold "５５５５５５５５５５\xef\xbc"…: want plain decimal such as "1234567890123456789": digits only, no leading zero`},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}

// These two have no text for a negative number, but show it as decimal.
func TestNegative(t *testing.T) {
	for _, k := range []interface {
		encoding.TextAppender
		encoding.TextMarshaler
		json.Marshaler
		fmt.Stringer
	}{pk.SortText(-high), pk.Prefixed[user](-high)} {
		_, err := k.AppendText(nil)
		_, err2 := k.MarshalText()
		_, err3 := k.MarshalJSON()
		_, err4 := json.Marshal(k)
		for i, err := range []error{err, err2, err3, err4} {
			mustRefuse(t, fmt.Sprintf("write %d of %T", i, k), err)
		}
		if got := k.String(); strings.TrimPrefix(got, "user_") != decimal(-high) {
			t.Errorf("String() of %T = %s, want readable decimal", k, got)
		}
	}
	_, err := pk.SortText(-high).Value()
	mustRefuse(t, "Value", err)
	if v, err := pk.Prefixed[user](-high).Value(); v != int64(-high) || err != nil {
		t.Errorf("Value() = %v, %v", v, err)
	}
}

func TestStringNull(t *testing.T) {
	var null pk.String
	if v, err := null.Value(); v != nil || err != nil {
		t.Errorf("Value() = %v, %v, want NULL", v, err)
	}
	if text, err := json.Marshal(null); string(text) != "null" || err != nil {
		t.Errorf("json.Marshal = %s, %v, want null", text, err)
	}
	if text, err := null.MarshalText(); len(text) > 0 || err != nil {
		t.Errorf("MarshalText() = %s, %v, want nothing", text, err)
	}
	text, param := pk.String("5"), pk.String("5")
	if err := errors.Join(text.UnmarshalText(nil), param.UnmarshalParam("")); err != nil || text != "" || param != "" {
		t.Errorf("UnmarshalText and UnmarshalParam of nothing = %q, %q, %v", string(text), string(param), err)
	}
	var out bytes.Buffer
	null.MarshalGQL(&out)
	pk.String("abc").MarshalGQL(&out)
	if out.String() != "nullnull" {
		t.Errorf("MarshalGQL wrote %s, want null twice", &out)
	}
	if id, err := null.ID(); id != 0 || err != nil {
		t.Errorf("ID() = %v, %v, want 0", id, err)
	}
}

// Since a String is a Go string, a program can assign any text to it.
func TestStringRefusesToWrite(t *testing.T) {
	for _, text := range badDecimal[1:] {
		k := pk.String(text)
		_, err := k.Value()
		mustRefuse(t, "Value of "+text, err)
		_, err = k.MarshalText()
		mustRefuse(t, "MarshalText of "+text, err)
		_, err = k.MarshalJSON()
		mustRefuse(t, "MarshalJSON of "+text, err)
		_, err = k.ID()
		mustRefuse(t, "ID of "+text, err)
	}
}

func TestConversions(t *testing.T) {
	if pk.ID(high).Int64() != high {
		t.Errorf("Int64() = %d", pk.ID(high).Int64())
	}
	for _, key := range []interface {
		ID() pk.ID
		Int64() int64
	}{pk.Text(high), pk.SortText(high), pk.Of[user](high), pk.Prefixed[user](high)} {
		if key.ID() != high || key.Int64() != high || fmt.Sprintf("%d", key) != decimal(high) {
			t.Errorf("%T: ID() = %d, Int64() = %d, %%d is %[1]d", key, key.ID(), key.Int64())
		}
	}
	if id, err := pk.String(decimal(high)).ID(); id != high || err != nil {
		t.Errorf("ID() = %v, %v", id, err)
	}
	if id, err := pk.ParseOf[user](decimal(high)); id != high || err != nil {
		t.Errorf("ParseOf = %v, %v", id, err)
	}
}

// TestDigits writes and reads all groups of four digits, since digits are converted in
// groups, in each place of a long number.
func TestDigits(t *testing.T) {
	for _, head := range []int64{1, 21, 321} {
		for place := int64(1); place <= 1e12; place *= 1e4 {
			for group := range int64(1e4) {
				id := pk.ID(head*1e16 + group*place)
				want := strconv.FormatInt(int64(id), 10)
				text, err := id.MarshalJSON()
				if back, parseErr := pk.Parse(want); err != nil || parseErr != nil || id.String() != want || string(text) != `"`+want+`"` || back != id {
					t.Fatalf("%s is %s, %s in JSON (%v), and read as %d (%v)", want, id, text, err, back, parseErr)
				}
			}
		}
	}
}
