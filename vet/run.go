package vet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Options say what [Run] should analyse.
type Options struct {
	Dir      string   // where the patterns are resolved; defaults to the current directory
	Patterns []string // as for go build; defaults to ./...
	Config   Config
}

// A Finding is a place in the source.
type Finding struct {
	Rule     string         `json:"rule"`
	Category string         `json:"category"` // [Breaks], [Check] or [Hint]
	Position token.Position `json:"position"`
	Text     string         `json:"text"` // what was found, and the remedy
	URL      string         `json:"url"`
}

// Run loads a program, looks at all of it to complete the configuration, and applies every
// rule. Findings are sorted by file.
//
// Tables created by the program or by the *.sql files in its modules are added to
// Config.Counted. If the program calls idgen.JSSafe, Config.Safe is set. Templates in its
// modules are checked as well.
func Run(ctx context.Context, o Options) ([]Finding, error) {
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./..."}
	}
	pkgs, err := load(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("vet: loading %s: %w", strings.Join(o.Patterns, " "), err)
	}
	if err := loadError(pkgs); err != nil {
		return nil, err
	}
	config, templates, err := survey(pkgs, o.Config)
	if err != nil {
		return nil, err
	}
	onlyRoots(pkgs)
	graph, err := checker.Analyze([]*analysis.Analyzer{keysAnalyzer(config)}, pkgs, nil)
	if err != nil {
		return nil, fmt.Errorf("vet: %w", err)
	}
	var findings []Finding
	inTemplates := make(templateKeys)
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, fmt.Errorf("vet: %s: %w", action.Package.PkgPath, action.Err)
		}
		k := action.Result.(*keySet)
		inTemplates.add(k, []*types.Package{k.Pkg})
		for rule, all := range k.faults() {
			for _, d := range all {
				findings = append(findings, Finding{rule, d.Category, k.Fset.Position(d.Pos), d.Message, d.URL})
			}
		}
	}
	for _, name := range templates {
		found, err := inTemplates.file(name)
		if err != nil {
			return nil, fmt.Errorf("vet: reading templates: %w", err)
		}
		findings = append(findings, found...)
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		p, q := a.Position, b.Position
		return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(findings), nil // a package and its test variant have the same files
}

// load loads the packages and what they import. Only the types of imported packages are needed,
// so it leaves out the bodies of their functions, which take most of the time.
func load(ctx context.Context, o Options) ([]*packages.Package, error) {
	config := &packages.Config{Context: ctx, Dir: o.Dir, Mode: packages.NeedFiles | packages.NeedCompiledGoFiles, Tests: true}
	roots, err := packages.Load(config, o.Patterns...)
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool)
	for _, p := range roots {
		for _, name := range slices.Concat(p.GoFiles, p.CompiledGoFiles) {
			own[name] = true
		}
	}
	config.Mode = packages.LoadAllSyntax | packages.NeedModule
	config.ParseFile = func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
		file, err := parser.ParseFile(fset, name, text, parser.AllErrors|parser.ParseComments)
		if file != nil && !own[name] && file.Name.Name != "main" { // go test generates some
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					f.Body.List = nil
				}
			}
		}
		return file, err
	}
	return packages.Load(config, o.Patterns...)
}

// onlyRoots keeps the checker from analysing packages outside of the patterns. Their types
// are needed, but nothing in them is a key of the program. Errors in functions without a
// body don't matter.
func onlyRoots(pkgs []*packages.Package) {
	roots := make(map[*packages.Package]bool)
	for _, p := range pkgs {
		roots[p] = true
	}
	for _, p := range pkgs {
		p.IllTyped = false
		maps.DeleteFunc(p.Imports, func(_ string, imported *packages.Package) bool { return !roots[imported] })
	}
}

// loadError reports packages whose types aren't known. A package that lacks only the files that
// it embeds, such as those of a web page that hasn't been built, is read all the same.
func loadError(pkgs []*packages.Package) error {
	var errs []error
	for _, p := range pkgs {
		for _, err := range p.Errors {
			if err.Kind != packages.ListError || len(p.Syntax) == 0 {
				errs = append(errs, err)
			}
		}
	}
	if len(pkgs) == 0 {
		return errors.New("vet: no package matches the patterns; ./... stands for all")
	}
	if len(errs) > 0 {
		return fmt.Errorf("vet: the program doesn't compile; try go vet first, and set build tags in GOFLAGS: %w", errors.Join(errs[:min(3, len(errs))]...))
	}
	return nil
}

// survey adds to a configuration what the source says about the whole program, and finds the
// files in its modules that may be templates.
func survey(pkgs []*packages.Package, config Config) (_ Config, templates []string, _ error) {
	counted := make(map[string]bool)
	dirs := make(map[string]bool)
	for _, p := range pkgs {
		if p.Module != nil && p.Module.Dir != "" {
			dirs[p.Module.Dir] = true
		}
		each(p.Syntax, func(literal *ast.BasicLit) {
			text, _ := strconv.Unquote(literal.Value) // "" for a number
			addCounted(counted, text)
		})
		for _, obj := range p.TypesInfo.Uses {
			config.Safe = config.Safe || obj.Name() == "JSSafe" && pathOf(obj) == snowkey+"idgen"
		}
	}
	for dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && slices.Contains([]string{".git", "node_modules", "vendor", "testdata"}, entry.Name()) {
				return cmp.Or(err, fs.SkipDir)
			}
			switch ext := filepath.Ext(path); {
			case !entry.Type().IsRegular():
			case ext == ".sql":
				text, err := os.ReadFile(path)
				addCounted(counted, string(text))
				return err
			case slices.Contains(templateFiles, ext):
				templates = append(templates, path)
			}
			return nil
		})
		if err != nil {
			return config, nil, fmt.Errorf("vet: reading SQL: %w", err)
		}
	}
	config.Counted = append(slices.Clone(config.Counted), slices.Sorted(maps.Keys(counted))...)
	return config, templates, nil
}
