// Package docs_test tests that the pages of this repository are correct.
package docs_test

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../"

// readmes lists the README in all languages.
var readmes = []string{"README.md", "README.zh-CN.md"}

// A reader has five minutes. So the README has at most 1,300 words and 200 lines,
// including its code.
func TestReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(read(t, readmes[0]))); n > 1300 {
		t.Errorf("%s has %d words", readmes[0], n)
	}
	for _, name := range readmes {
		if n := strings.Count(read(t, name), "\n"); n > 200 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

// English has compounds and possessives: "the host's clock" instead of "the clock of the
// host". In the README's prose, at most 1.5 words in 100 are "of".
func TestReadmeSeldomSaysOf(t *testing.T) {
	prose := codeBlock.ReplaceAllString(read(t, readmes[0]), "")
	prose = regexp.MustCompile(`(?m)^\|.*`).ReplaceAllString(linkText.ReplaceAllString(prose, "$1"), "")
	words := strings.FieldsFunc(prose, func(r rune) bool { return strings.ContainsRune(" \n*", r) })
	count := 0
	for _, word := range words {
		if word == "of" {
			count++
		}
	}
	if len(words) < 700 || 1000*count > 15*len(words) {
		t.Errorf("%d of %d words are \"of\"", count, len(words))
	}
}

// A section of a README.
type section struct {
	heading string
	code    []string
	links   []string // without the languages of the README
	figures []string
}

var figure = regexp.MustCompile(`\d+(?:[,.]\d+)*`)

func sections(text string) (list []section) {
	for part := range strings.SplitSeq("\n"+text, "\n## ") {
		s := section{code: codeBlock.FindAllString(part, -1)}
		s.heading, _, _ = strings.Cut(strings.TrimSpace(part), "\n")
		prose := codeBlock.ReplaceAllString(part, "")
		for _, link := range linkTarget.FindAllStringSubmatch(prose, -1) {
			if target := link[1] + "#" + link[2]; !strings.HasPrefix(target, "README") {
				s.links = append(s.links, target)
			}
		}
		s.figures = figure.FindAllString(linkTarget.ReplaceAllString(prose, "]"), -1)
		slices.Sort(s.links)
		slices.Sort(s.figures)
		list = append(list, s)
	}
	return list
}

// The languages of the README have the same sections, and these the same code, links and
// figures. Figures are digits in all languages.
func TestReadmesAgree(t *testing.T) {
	english := sections(read(t, readmes[0]))
	for _, name := range readmes[1:] {
		list := sections(read(t, name))
		if len(english) < 10 || len(list) != len(english) {
			t.Fatalf("%s has %d sections, and %s has %d", readmes[0], len(english), name, len(list))
		}
		for i, want := range english {
			got := list[i]
			for what, pair := range map[string][2][]string{"code": {got.code, want.code}, "links": {got.links, want.links}, "figures": {got.figures, want.figures}} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s, %q has the %s\n%q\nand %q has\n%q", name, got.heading, what, pair[0], want.heading, pair[1])
				}
			}
		}
	}
}

// The figures in the README and in the comparison come from the latest run of the
// benchmarks, or from the page they link to.
func TestFiguresAreOfTheBenchmarks(t *testing.T) {
	page, readme := read(t, "bench/RESULTS.md"), read(t, readmes[0])
	contains := func(page, text string) {
		t.Helper()
		if !strings.Contains(page, text) {
			t.Errorf("no page has %q", text)
		}
	}

	// All figures about tables of a million rows are from one section each.
	for database, title := range map[string]string{"Postgres": "postgres", "MariaDB": "mariadb"} {
		table := cut(t, page, "### "+title+" ", ": tables of 1,000,000 rows\n", "\n### ")
		cells := map[string][]string{}
		for _, row := range regexp.MustCompile(`(?m)^\| .*`).FindAllString(table, -1) {
			columns := strings.Split(row, " | ")
			cells[strings.TrimPrefix(columns[0], "| ")] = columns
		}
		var rates, sizes []string
		for _, key := range []string{"auto-increment", "UUIDv7", "Snowkey"} {
			if len(cells[key]) < 6 {
				t.Fatalf("the table of %s has the rows %q", database, slices.Sorted(maps.Keys(cells)))
			}
			rates = append(rates, cells[key][3])
			size := cells[key][4]
			if database == "Postgres" { // in MariaDB, the index of the key holds the rows
				size += ", " + cells[key][5]
			}
			sizes = append(sizes, size)
		}
		contains(readme, "| "+database+": insert rate | "+strings.Join(rates, " | ")+" |\n")
		contains(readme, " | "+strings.Join(sizes, " | ")+" |\n")
	}

	bulk := cut(t, page, "### Rows a second", "", "\n## ")
	ent := regexp.MustCompile(`(?m)^\| ent, 1,000 rows \|.* (\S+) \([^|]*\|[^|]*\|$`).FindStringSubmatch(bulk)
	if ent == nil {
		t.Fatal("the benchmarks have no rows of ent on MariaDB")
	}
	contains(readme, "With ent in bulk, MariaDB's rate is "+ent[1]+".")

	// The speed of an id, and what filling the key of a row costs.
	speed := cut(t, readme, "\n## Speed\n", "", "\n## ")
	one := regexp.MustCompile(`(?m)^\| one \| \S+ ns \| (\S+ ns) \|`).FindStringSubmatch(page)
	inserts := regexp.MustCompile(`(?m)^\| \w+ with \w+, synchronous=(FULL|NORMAL)\b.*? \| \+(\S+) \(`).FindAllStringSubmatch(page, -1)
	if one == nil || len(inserts) != 6 {
		t.Fatalf("the benchmarks have %q and %q", one, inserts)
	}
	slices.SortFunc(inserts, func(a, b []string) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(len(a[2]), len(b[2])), cmp.Compare(a[2], b[2]))
	})
	full, normal := inserts[1][2], inserts[5][2] // the highest ones
	contains(speed, "An id takes "+one[1])
	contains(speed, full+" % slower with `synchronous=FULL`, and up to "+normal+" % with `NORMAL`")

	orders := cut(t, read(t, "examples/graph/README.md"), "one order after another, 500 in a transaction, with foreign keys", "", "\n\n")
	contains(orders, "RETURNING, then a batch  3053      1.7")
	contains(speed, "1.7 times as fast as with auto-increment and `RETURNING`")

	triggers := cut(t, read(t, "docs/sql-default.md"), "## What it costs", "", "\n## ")
	contains(triggers, " | 0.12 (")
	contains(triggers, " | 0.92 (")
	contains(readme, "at 0.12–0.92 of the rate")

	figures := regexp.MustCompile(`\d\.\d+ \(\d\.\d+–\d\.\d+\) \|`).FindAllString(read(t, "docs/why.md"), -1)
	if len(figures) < 6 {
		t.Errorf("the comparison has the figures %q", figures)
	}
	for _, figure := range figures {
		contains(page, "| "+figure)
	}
}

// cut returns the text that follows before and, on the same line, title. It ends at after.
func cut(t *testing.T, text, before, title, after string) string {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(before) + `[^\n]*?` + regexp.QuoteMeta(title)).FindStringIndex(text)
	if m == nil {
		t.Fatalf("no page has %q, followed by %q", before, title)
	}
	part, _, _ := strings.Cut(text[m[1]:], after)
	return part
}

// The pages show ids as their programs print them. The tests of modproxy run them.
func TestReadmeShowsTheOutput(t *testing.T) {
	ids := regexp.MustCompile(`^\d{18}( \d{18})?\n$`)
	for name, want := range map[string]int{readmes[0]: 1, readmes[1]: 1, "docs/gorm.md": 1, "docs/ent.md": 1, "docs/bun.md": 1, "docs/sql.md": 2} {
		shown := regexp.MustCompile("```\n(\\d.*\n)```").FindAllStringSubmatch(read(t, name), -1)
		for _, block := range shown {
			if !ids.MatchString(block[1]) {
				t.Errorf("%s shows %q", name, block[1])
			}
		}
		if len(shown) != want {
			t.Errorf("%s shows %d outputs, want %d", name, len(shown), want)
		}
	}
}
