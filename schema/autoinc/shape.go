package autoinc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A shape scans the name of a type, without anything that a domain hides, into
// what the column can hold.
type shape struct {
	column *Column
	holds  func(column *Column, word string, arguments []int)
}

// Scan implements sql.Scanner.
func (s shape) Scan(source any) error {
	var name string
	switch source := source.(type) {
	case nil:
	case string:
		name = source
	case []byte:
		name = string(source)
	default:
		return fmt.Errorf("the name of a type came as %T", source)
	}
	name = strings.ToLower(name)
	s.column.Unsigned = strings.Contains(name, " unsigned")
	word, rest, _ := strings.Cut(name, "(")
	var arguments []int
	if list, _, ok := strings.Cut(rest, ")"); ok {
		for argument := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(argument))
			if err != nil {
				break // of a type that is no number's
			}
			arguments = append(arguments, n)
		}
	}
	word, _, _ = strings.Cut(strings.TrimSpace(word), " unsigned")
	s.holds(s.column, strings.TrimSpace(word), arguments)
	return nil
}

// decimalBits returns the bits of numbers with so many digits before the point.
func decimalBits(digits int) int {
	if digits >= 19 { // 2^63 has 19
		return 64
	}
	return int(float64(max(digits, 0))*math.Log2(10)) + 1
}

func postgresHolds(c *Column, word string, arguments []int) {
	switch word {
	case "smallint":
		c.Bits = 16
	case "integer":
		c.Bits = 32
	case "bigint":
		c.Bits = 64
	case "numeric":
		c.Bits = 64
		if len(arguments) > 0 {
			c.Bits = decimalBits(arguments[0] - scale(arguments))
		}
	case "real":
		c.Bits = 25 // of the fraction, and the sign
	case "double precision":
		c.Bits = 54
	case "text", "character varying", "character", "citext":
		c.Text = true
	}
}

func mysqlHolds(c *Column, word string, arguments []int) {
	switch word {
	case "tinyint":
		c.Bits = 8
	case "smallint":
		c.Bits = 16
	case "mediumint":
		c.Bits = 24
	case "int":
		c.Bits = 32
	case "bigint":
		c.Bits = 64
	case "decimal":
		c.Bits = 34 // ten digits
		if len(arguments) > 0 {
			c.Bits = decimalBits(arguments[0] - scale(arguments))
		}
	case "float":
		c.Bits = 25
	case "double":
		c.Bits = 54
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		c.Text = true
	}
}

// sqliteHolds follows SQLite's rules of affinity, by which a column of any
// integer type holds 64 bits.
func sqliteHolds(c *Column, word string, _ []int) {
	has := func(part string) bool { return strings.Contains(word, part) }
	c.Unsigned = false // it knows the word and does nothing with it
	switch {
	case has("int"):
		c.Bits = 64
	case has("char"), has("clob"), has("text"):
		c.Text = true
	case has("blob"), word == "":
	case has("real"), has("floa"), has("doub"):
		c.Bits = 54
	default:
		c.Bits = 64
	}
}

func scale(arguments []int) int {
	if len(arguments) > 1 {
		return arguments[1]
	}
	return 0
}
