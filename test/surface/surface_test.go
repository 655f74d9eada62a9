// Package surface limits how much packages can export, and lists all exported names.
//
// Users have to read every exported name before they can choose one, so a name that's
// only meant for other packages of this repository should be in an internal package.
package surface

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// limits has the maximum number of names that packages may export. If a package is full and
// you want to add a name, either remove another or give the reason in the commit.
var limits = map[string]int{
	".":                25,
	"idgen":            138,
	"idgen/worker":     5,
	"lease":            122,
	"schema/autoinc":   116,
	"schema/catalog":   146,
	"schema/pk":        117,
	"schema/pk/public": 37,
	"token":            36,
	"token/sqltoken":   12,
	"token/redistoken": 8,
}

var update = flag.Bool("update", false, "write the list of exported names")

const (
	root = "../.."
	list = "testdata/names.txt"
)

// unpublished are folders that users can't import, or have no reason to.
var unpublished = []string{"bench", "cmd", "docs", "examples", "internal", "test", "testdata"}

// TestNames compares the exported names of all packages with a list, so that no name is
// renamed or removed unnoticed. A change of the list belongs in the changelog.
func TestNames(t *testing.T) {
	var got []string
	dbtest.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != root && (slices.Contains(unpublished, d.Name()) || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		names, err := namesIn(path)
		got = append(got, names...)
		return err
	}))
	slices.Sort(got)
	got = slices.Compact(got) // some are in a file for each system
	count := make(map[string]int)
	for _, name := range got {
		folder, _, _ := strings.Cut(name, " ")
		count[folder]++
	}
	for folder, limit := range limits {
		if n := count[folder]; n == 0 || n > limit {
			t.Errorf("%s exports %d names; the limit is %d", folder, n, limit)
		}
	}
	text := strings.Join(got, "\n") + "\n"
	if *update {
		dbtest.NoError(t, os.WriteFile(list, []byte(text), 0o666))
		return
	}
	want := strings.Split(strings.TrimSuffix(string(dbtest.Must(os.ReadFile(list))(t)), "\n"), "\n")
	for _, name := range without(want, got) {
		t.Errorf("%s is missing", name)
	}
	for _, name := range without(got, want) {
		t.Errorf("%s is not in %s", name, list)
	}
	if t.Failed() {
		t.Log("if this is intended, say so in CHANGELOG.md, and run go test ./test/surface -update")
	}
}

// without returns the names that others don't contain. Both are sorted.
func without(names, others []string) (rest []string) {
	for _, name := range names {
		if _, found := slices.BinarySearch(others, name); !found {
			rest = append(rest, name)
		}
	}
	return rest
}

// namesIn returns the exported names of the package in a folder, after the folder. Tests
// are left out, and a program has no names that others can use.
func namesIn(folder string) (names []string, err error) {
	short, err := filepath.Rel(root, folder)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if file.Name.Name != "main" {
				names = append(names, exported(filepath.ToSlash(short)+" ", d)...)
			}
		}
	}
	return names, nil
}

// exported returns what a declaration exports, after a prefix: functions and methods, types
// with the fields of structs and the methods of interfaces, constants and variables.
func exported(prefix string, d ast.Decl) (names []string) {
	add := func(prefix string, idents ...*ast.Ident) {
		for _, n := range idents {
			if n.IsExported() {
				names = append(names, prefix+n.Name)
			}
		}
	}
	function, ok := d.(*ast.FuncDecl)
	switch {
	case ok && function.Recv == nil:
		add(prefix, function.Name)
	case ok:
		if receiver := nameOf(function.Recv.List[0].Type); receiver.IsExported() {
			add(prefix+receiver.Name+".", function.Name)
		}
	default:
		for _, s := range d.(*ast.GenDecl).Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				add(prefix, s.Names...)
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				add(prefix, s.Name)
				var fields ast.FieldList
				switch of := s.Type.(type) {
				case *ast.StructType:
					fields = *of.Fields
				case *ast.InterfaceType:
					fields = *of.Methods
				}
				for _, f := range fields.List {
					add(prefix+s.Name.Name+".", f.Names...)
					if embedded := nameOf(f.Type); len(f.Names) == 0 && embedded != nil { // or a constraint
						add(prefix+s.Name.Name+".", embedded)
					}
				}
			}
		}
	}
	return names
}

// nameOf returns the name of a type, without its package, its pointer and its type
// parameters, or nil.
func nameOf(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return nameOf(e.X)
	case *ast.IndexListExpr:
		return nameOf(e.X)
	case *ast.Ident:
		return e
	}
	return nil
}
