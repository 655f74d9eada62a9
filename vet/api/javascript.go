package api

import (
	"regexp"
	"strings"
)

// A pattern is a way in which JavaScript or TypeScript makes an id a number.
type pattern struct {
	*regexp.Regexp // its group is the id
	text           string
}

// An operand is a name that may have members and calls before the id: entry.dataset.entryId.
const operand = `((?:[\w$?!\[\]'"]+\.)*(?:id|ID|[\w$]+_id|[\w$]*[a-z0-9]I[dD]))\b`

var patterns = []pattern{
	{regexp.MustCompile(`\b(?:parseInt|parseFloat|Number)\(\s*` + operand + `\s*[,)]`), "%s becomes a number. "},
	{regexp.MustCompile(`\b(?:parseInt|parseFloat|Number)\([^()]*\(["'](?:[\w-]+[-_])?(id)["']\)`), "%s becomes a number. "},
	{regexp.MustCompile(`(?:[=(,:?[&|]|\breturn)\s*\+` + operand), "+%s is a number. "},
	{regexp.MustCompile(`\b(id|\w+_id|\w*[a-z0-9]I[dD]s?)\??\s*:\s*number\b`), "%s is declared as a number. "},
}

// checkJavaScript searches line by line. With ids below 2^53 numbers are right.
func checkJavaScript(f *file) error {
	if f.safe {
		return nil
	}
	line := 0
	for text := range strings.Lines(f.text) {
		line++
		code, _, _ := strings.Cut(text, "//")
		for _, p := range patterns {
			for _, m := range p.FindAllStringSubmatchIndex(code, -1) {
				if name := code[m[2]:m[3]]; !otherIDs.MatchString(name) {
					f.report(line, m[2]+1, p.text+number, name)
				}
			}
		}
	}
	return nil
}
