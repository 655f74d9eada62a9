// Package surface limits how much packages can export, and lists all exported names.
//
// Users have to read every exported name before they can choose one, so a name that's
// only meant for other packages of this repository should be in an internal package.
package surface

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// limits has the maximum number of functions, methods and types that groups of packages
// may export. If a group is full and you want to add a name, either remove another or
// give the reason in the commit.
var limits = []struct {
	packages []string
	limit    int
}{
	{[]string{"."}, 6},
	{[]string{"idgen"}, 72},
	{[]string{"idgen/worker"}, 7},
	{[]string{"lease"}, 34},
	{[]string{"schema/autoinc", "schema/catalog"}, 47},
	{[]string{"schema/pk"}, 125},
	{[]string{"schema/pk/public"}, 33},
	{[]string{"token"}, 20},
	{[]string{"token/sqltoken"}, 16},
	{[]string{"token/redistoken"}, 8},
}

const root = "../.."

func TestSurface(t *testing.T) {
	for _, tt := range limits {
		t.Run(strings.Join(tt.packages, "+"), func(t *testing.T) {
			n := 0
			for _, p := range tt.packages {
				names, err := exported(filepath.Join(root, p))
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				dbtest.NoError(t, err)
				t.Logf("%s exports %d functions, methods and types: %s", p, len(names), strings.Join(names, " "))
				n += len(names)
			}
			if n == 0 {
				t.Error("there is no such package, or it exports nothing")
			}
			if n > tt.limit {
				t.Errorf("%d functions, methods and types are exported; the limit is %d", n, tt.limit)
			}
		})
	}
}

// exported returns the names of all functions, methods and types exported by the
// package in a folder. The methods of an interface are considered part of the type.
func exported(folder string) ([]string, error) {
	if _, err := filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	decls, err := declarations(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range decls {
		names = append(names, declared(d)...)
	}
	return names, nil
}

// declarations returns those of the package in a folder, without its tests. A program has
// none that others can use.
func declarations(folder string) (decls []ast.Decl, err error) {
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
		if file.Name.Name != "main" {
			decls = append(decls, file.Decls...)
		}
	}
	return decls, nil
}

func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := receiverOf(d.Recv.List[0].Type)
			if !ast.IsExported(receiver) {
				return nil
			}
			name = receiver + "." + name
		}
		if d.Name.IsExported() {
			names = append(names, name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}

// receiverOf returns the name of a receiver's type, without its pointer and type
// parameters.
func receiverOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverOf(e.X)
	case *ast.IndexExpr:
		return receiverOf(e.X)
	case *ast.IndexListExpr:
		return receiverOf(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
