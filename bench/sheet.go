package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A sheet is a table with its own columns, the first of which has the names of the
// rows.
type sheet struct {
	title   string
	note    string // what a reader needs to know to understand the rows
	columns []string
	rows    [][]string
}

// print prints the sheet in columns.
func (s sheet) print(w io.Writer) {
	widths := make([]int, len(s.columns))
	all := append([][]string{s.columns}, s.rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintf(w, "\n%s\n", s.title)
	for _, row := range all {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "  %-*s", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	if s.note != "" {
		fmt.Fprintf(w, "  %s\n", s.note)
	}
}

// markdown prints the sheet for the page. It leaves out the title, which the page
// prints itself.
func (s sheet) markdown(w io.Writer) {
	fmt.Fprintln(w)
	line := func(cells []string) {
		var b strings.Builder
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(strings.TrimSpace(cell), "|", `\|`) + " ")
		}
		fmt.Fprintln(w, b.String()+"|")
	}
	line(s.columns)
	fmt.Fprintln(w, "|---"+strings.Repeat("|---", len(s.columns)-1)+"|")
	for _, row := range s.rows {
		line(row)
	}
	if s.note != "" {
		fmt.Fprintf(w, "\n%s\n", strings.Join(strings.Fields(s.note), " "))
	}
}

// sheet returns the part as a sheet, without any columns that are empty.
func (p part) sheet() sheet {
	s := sheet{title: p.topic.title, note: p.topic.note}
	names := heading.cells()
	names[len(names)-1] = "verdict"
	var used [len(names)]bool
	for _, l := range p.lines {
		for i, cell := range l.cells() {
			used[i] = used[i] || i == 0 || cell != ""
		}
	}
	pick := func(cells [len(names)]string) (row []string) {
		for i, cell := range cells {
			if used[i] {
				row = append(row, cell)
			}
		}
		return row
	}
	s.columns = pick(names)
	for _, l := range p.lines {
		s.rows = append(s.rows, pick(l.cells()))
	}
	return s
}

// count prints a number with three significant digits and a comma every three digits.
func count(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.3g", n)
	}
	unit := math.Pow(10, math.Floor(math.Log10(n))-2)
	return commas(int64(math.Round(n/unit) * unit))
}

// commas prints n with a comma every three digits. n must not be negative.
func commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// megabytes prints a size on disk.
func megabytes(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
