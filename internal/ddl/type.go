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

var classes = map[string]Class{
	"float": Float, "float4": Float, "float8": Float, "real": Float, "double": Float,
	"tinyint": Int, "smallint": Int, "mediumint": Int, "int": Int, "integer": Int, "int2": Int, "int4": Int,
	"bigint": BigInt, "int8": BigInt,
	"bigserial": Serial, "serial8": Serial, "serial": Serial, "serial4": Serial,
	"decimal": Decimal, "numeric": Decimal,
	"char": Char, "character": Char, "varchar": Char, "nchar": Char, "nvarchar": Char,
	"text": Text,
}

// Class returns the class of the first word of the name.
func (t Type) Class() Class {
	first, _, _ := strings.Cut(t.Name, " ")
	return classes[first]
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

// A float has the bits of its fraction, plus the sign.
const (
	floatBits  = 25
	doubleBits = 54
)

// These are the types that hold numbers or text, as each server writes them. Decimals are
// not among them, because their size follows from their digits.
var (
	postgresBits = map[string]int{"smallint": 16, "integer": 32, "bigint": 64, "real": floatBits, "double precision": doubleBits}
	postgresText = []string{"text", "character varying", "character", "citext"}

	mysqlBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64, "float": floatBits, "double": doubleBits}
	mysqlText = []string{"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
)

// PostgresShape expects the name of a type as returned by format_type of Postgres.
func PostgresShape(t Type) Shape {
	s := Shape{Bits: postgresBits[t.Name], Text: slices.Contains(postgresText, t.Name)}
	if t.Name == "numeric" {
		s.Bits = decimalBits(t, 64)
	}
	return s
}

// MySQLShape expects the name of a type as found in the information schema of MySQL and
// MariaDB.
func MySQLShape(t Type) Shape {
	s := Shape{Bits: mysqlBits[t.Name], Unsigned: t.Unsigned, Text: slices.Contains(mysqlText, t.Name)}
	if t.Name == "decimal" {
		s.Bits = decimalBits(t, 10)
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

// decimalBits returns the number of bits that a DECIMAL can hold. digits is the default
// number of digits, for a type without parentheses.
func decimalBits(t Type, digits int) int {
	if n, ok := t.Digits(); ok {
		digits = n
	}
	if digits >= 19 { // 2^63 has 19 digits
		return 64
	}
	return int(float64(max(digits, 0))*math.Log2(10)) + 1
}
