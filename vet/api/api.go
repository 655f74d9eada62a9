// Package api finds ids in API descriptions, and in JavaScript and TypeScript clients,
// that can't hold a key: int32, numbers, parseInt.
//
// It reads OpenAPI and Swagger, protocol buffers and GraphQL with real parsers. JavaScript
// and TypeScript are just searched for patterns, line by line.
package api

import (
	"cmp"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/vet"
)

// Options say what clients can read.
type Options struct {
	// Safe says that all ids are below 2^53, as with idgen.JSSafe. 64-bit numbers and
	// JavaScript numbers aren't reported in that case. Defaults to false.
	Safe bool
}

// A reader finds ids in a file.
type reader struct {
	name  string // of the rule
	page  string
	check func(*file) error
}

var (
	openAPI    = reader{"openapi", "web.md#openapi-31", checkOpenAPI}
	protobuf   = reader{"protobuf", "web.md#protobuf", checkProtobuf}
	graphQL    = reader{"graphql", "web.md#graphql", checkGraphQL}
	javaScript = reader{"javascript", "web.md#javascript-and-typescript", checkJavaScript}
)

var readers = map[string]reader{
	".yaml": openAPI, ".yml": openAPI, ".json": openAPI, ".proto": protobuf, ".graphql": graphQL, ".graphqls": graphQL, ".gql": graphQL,
	".js": javaScript, ".jsx": javaScript, ".mjs": javaScript, ".ts": javaScript, ".tsx": javaScript, ".vue": javaScript, ".svelte": javaScript,
}

// Check reads a file, or all files in a folder with the file extension of an API
// description, JavaScript or TypeScript. YAML and JSON files in a folder are skipped if
// they're not OpenAPI.
func Check(path string, o Options) ([]vet.Finding, error) {
	var findings []vet.Finding
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && slices.Contains([]string{"node_modules", "vendor", ".git", "dist"}, entry.Name()) {
			return cmp.Or(err, fs.SkipDir)
		}
		r, ok := readers[filepath.Ext(name)]
		switch readable := ok && !strings.HasSuffix(name, ".min.js"); {
		case entry.IsDir(), !readable && name != path:
			return nil
		case !readable:
			return fmt.Errorf("vet: %s is not a file of OpenAPI, protobuf, GraphQL or JavaScript", name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("vet: %w", err)
		}
		f := &file{name: name, text: string(text), safe: o.Safe, reader: r, alone: name == path}
		if err := r.check(f); err != nil {
			return fmt.Errorf("vet: %s: %w", name, err)
		}
		findings = append(findings, f.findings...)
		return nil
	})
	slices.SortStableFunc(findings, func(a, b vet.Finding) int {
		return cmp.Or(cmp.Compare(a.Position.Filename, b.Position.Filename), cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return findings, err
}

// A file is one that is read.
type file struct {
	name, text string
	safe       bool
	alone      bool // whether it was named itself
	reader     reader
	findings   []vet.Finding
}

func (f *file) report(line, column int, format string, args ...any) {
	f.findings = append(f.findings, vet.Finding{
		Rule: f.reader.name, Category: vet.Breaks, Text: fmt.Sprintf(format, args...), URL: vet.Docs + f.reader.page,
		Position: token.Position{Filename: f.name, Line: line, Column: column},
	})
}

var (
	idName   = regexp.MustCompile(`^(id|ID|Id|ids|IDs|\w+_ids?|\w*[a-z0-9](ID|Id|IDs|Ids))$`)
	otherIDs = regexp.MustCompile(`(?i)(timeout|timer|interval|frame|trace|request|process|thread)_?ids?$`)
)

// isID reports whether a field has the name of a key.
func isID(name string) bool { return idName.MatchString(name) && !otherIDs.MatchString(name) }

const number = "JavaScript rounds numbers above 2^53. Make it a string, or use ids of the layout JSSafe"
