package ddl

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Type is a column type as written in SQL.
type Type struct {
	Name     string // in lower case, up to the parentheses or UNSIGNED, such as "double precision"
	Args     []int  // the numbers in parentheses, such as 20 for varchar(20)
	Unsigned bool
}

// ParseType parses a column type, such as "DECIMAL(10, 2) UNSIGNED". Note that anything
// after the type, such as NOT NULL, becomes a part of the name, unless there are
// parentheses in between. [Type.Class] ignores it.
func ParseType(text string) (t Type) {
	text, _, _ = strings.Cut(strings.ToLower(text), "--")
	name, rest, _ := strings.Cut(text, "(")
	args, rest, _ := strings.Cut(rest, ")")
	words := strings.Fields(name)
	i := slices.Index(words, "unsigned")
	t.Unsigned = i >= 0 || slices.Contains(strings.Fields(rest), "unsigned")
	switch {
	case i > 0:
		words = words[:i]
	case i == 0: // SQLite's UNSIGNED BIG INT
		words = words[1:]
	}
	t.Name = strings.Join(words, " ")
	for arg := range strings.SplitSeq(args, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(arg))
		if err != nil {
			break // not the type of a number
		}
		t.Args = append(t.Args, n)
	}
	return t
}

// A Class is a group of similar types in all dialects.
type Class int

const (
	Other  Class = iota
	Float        // at most 53 bits
	Int          // fewer than 64 bits, except on SQLite
	BigInt       // 64 bits
	Serial       // an integer with a sequence of its own
	Decimal
	Char // text of limited size
	Text // text of any size
)

// A float has the bits of its fraction, plus the sign.
const (
	floatBits  = 25
	doubleBits = 54
)

// kinds are the types that hold numbers or text, by the first word of their names. The bits of
// decimals follow from their digits.
var kinds = map[string]struct {
	class Class
	bits  int
}{
	"tinyint": {Int, 8}, "smallint": {Int, 16}, "int2": {Int, 16}, "mediumint": {Int, 24},
	"int": {Int, 32}, "integer": {Int, 32}, "int4": {Int, 32},
	"bigint": {BigInt, 64}, "int8": {BigInt, 64},
	"bigserial": {Serial, 64}, "serial8": {Serial, 64}, "serial": {Serial, 32}, "serial4": {Serial, 32},
	"float": {Float, floatBits}, "float4": {Float, floatBits}, "real": {Float, floatBits},
	"float8": {Float, doubleBits}, "double": {Float, doubleBits},
	"decimal": {Decimal, 0}, "numeric": {Decimal, 0},
	"char": {Char, 0}, "character": {Char, 0}, "varchar": {Char, 0}, "nchar": {Char, 0}, "nvarchar": {Char, 0},
	"text": {Text, 0}, "tinytext": {Text, 0}, "mediumtext": {Text, 0}, "longtext": {Text, 0}, "citext": {Text, 0},
}

// Class returns the class of the first word of the name.
func (t Type) Class() Class {
	first, _, _ := strings.Cut(t.Name, " ")
	return kinds[first].class
}

// Digits returns how many characters, or digits before the decimal point, the
// parentheses allow. ok is false if there are no parentheses.
func (t Type) Digits() (n int, ok bool) {
	if len(t.Args) == 0 {
		return 0, false
	}
	if len(t.Args) > 1 {
		return t.Args[0] - t.Args[1], true
	}
	return t.Args[0], true
}

// A Shape says what a column can hold.
type Shape struct {
	Bits     int // of integers, including the sign, at most 64; 0 if it does not hold numbers
	Unsigned bool
	Text     bool
}

// PostgresShape expects the name of a type as returned by format_type of Postgres.
func PostgresShape(t Type) Shape { return t.shape(64) }

// MySQLShape expects the name of a type as found in the information schema of MySQL and
// MariaDB.
func MySQLShape(t Type) Shape { return t.shape(10) }

// shape returns the shape of a type on servers with types of fixed size. digits is the default
// number of digits of a DECIMAL.
func (t Type) shape(digits int) Shape {
	first, _, _ := strings.Cut(t.Name, " ")
	s := Shape{Bits: kinds[first].bits, Unsigned: t.Unsigned}
	switch t.Class() {
	case Char, Text:
		s.Text = true
	case Decimal:
		if n, ok := t.Digits(); ok {
			digits = n
		}
		s.Bits = 64
		if digits < 19 { // 2^63 has 19 digits
			s.Bits = int(float64(max(digits, 0))*math.Log2(10)) + 1
		}
	}
	return s
}

// SQLiteShape follows SQLite's rules for type affinity. A column of any integer type
// can hold 64 bits, and UNSIGNED has no effect.
func SQLiteShape(t Type) Shape {
	has := func(part string) bool { return strings.Contains(t.Name, part) }
	switch {
	case has("int"):
		return Shape{Bits: 64}
	case has("char"), has("clob"), has("text"):
		return Shape{Text: true}
	case has("blob"), t.Name == "":
		return Shape{}
	case has("real"), has("floa"), has("doub"):
		return Shape{Bits: doubleBits}
	}
	return Shape{Bits: 64}
}
