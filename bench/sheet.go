package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A sheet is a table that is printed in Markdown.
type sheet struct {
	title   string
	columns []string
	rows    [][]string
}

func (s sheet) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n| %s |\n|%s\n", s.title, strings.Join(s.columns, " | "), strings.Repeat("---|", len(s.columns)))
	for _, row := range s.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// count prints a number with three significant digits and a comma every three digits.
func count(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.3g", n)
	}
	unit := math.Pow(10, math.Floor(math.Log10(n))-2)
	s := strconv.FormatInt(int64(math.Round(n/unit)*unit), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// megabytes prints a size on disk.
func megabytes(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
