package surface

import (
	"flag"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var update = flag.Bool("update", false, "write the list of exported names")

const list = "testdata/names.txt"

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
	text := strings.Join(got, "\n") + "\n"
	if *update {
		dbtest.NoError(t, os.WriteFile(list, []byte(text), 0o666))
		return
	}
	frozen := dbtest.Must(os.ReadFile(list))(t)
	want := strings.Split(strings.TrimSuffix(string(frozen), "\n"), "\n")
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

// namesIn returns the exported names of the package in a folder, after the folder.
func namesIn(folder string) (names []string, err error) {
	short, err := filepath.Rel(root, folder)
	if err != nil {
		return nil, err
	}
	decls, err := declarations(folder)
	for _, d := range decls {
		for _, n := range append(declared(d), more(d)...) {
			names = append(names, filepath.ToSlash(short)+" "+n)
		}
	}
	return names, err
}

// more returns the names that declared leaves out: constants, variables, the fields of
// structs and the methods of interfaces.
func more(d ast.Decl) (names []string) {
	general, ok := d.(*ast.GenDecl)
	if !ok {
		return nil
	}
	add := func(prefix string, idents []*ast.Ident) {
		for _, n := range idents {
			if n.IsExported() {
				names = append(names, prefix+n.Name)
			}
		}
	}
	for _, s := range general.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			add("", s.Names)
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			var fields *ast.FieldList
			switch of := s.Type.(type) {
			case *ast.StructType:
				fields = of.Fields
			case *ast.InterfaceType:
				fields = of.Methods
			default:
				continue
			}
			for _, f := range fields.List {
				add(s.Name.Name+".", f.Names)
				if len(f.Names) == 0 { // embedded, or a constraint
					add(s.Name.Name+".", embedded(f.Type))
				}
			}
		}
	}
	return names
}

func embedded(e ast.Expr) []*ast.Ident {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embedded(e.X)
	case *ast.SelectorExpr:
		return []*ast.Ident{e.Sel}
	case *ast.IndexExpr:
		return embedded(e.X)
	case *ast.IndexListExpr:
		return embedded(e.X)
	case *ast.Ident:
		return []*ast.Ident{e}
	}
	return nil
}
