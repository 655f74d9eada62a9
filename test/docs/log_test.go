package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestLogIsDocumented checks that docs/operations.md lists every message that the
// library logs, along with its level and keys.
func TestLogIsDocumented(t *testing.T) {
	var logged []string
	for _, folder := range []string{".", "idgen", "idgen/segment", "idgen/healthz", "lease", "lease/sqlstore", "lease/filestore", "internal/keeper", "internal/leased"} {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no Go files in %s: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed := dbtest.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
			for n := range ast.Preorder(parsed) {
				if row := logRow(n); row != "" {
					logged = append(logged, row)
				}
			}
		}
	}
	slices.Sort(logged)
	page := dbtest.Must(os.ReadFile("../../docs/operations.md"))(t)
	var documented []string
	_, table, _ := strings.Cut(string(page), "| level | message | keys |")
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") && strings.TrimSpace(line) != "" {
			break
		}
		if strings.HasPrefix(line, "| ") {
			documented = append(documented, strings.TrimSpace(line))
		}
	}
	slices.Sort(documented)
	if len(logged) < 10 || !slices.Equal(logged, documented) {
		t.Errorf("the code logs\n%s\n\nand docs/operations.md has\n%s", strings.Join(logged, "\n"), strings.Join(documented, "\n"))
	}
}

// logRow returns the table's row for a call of a logger, or an empty string if n is
// something else.
func logRow(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, method.Sel.Name) || len(call.Args) == 0 {
		return ""
	}
	message, ok := text(call.Args[0])
	if !ok {
		return ""
	}
	var keys []string
	for i := 1; i < len(call.Args); i += 2 {
		key, ok := text(call.Args[i])
		if !ok {
			key = "?"
		}
		keys = append(keys, "`"+key+"`")
	}
	return fmt.Sprintf("| %s | %s | %s |", strings.ToUpper(method.Sel.Name), message, strings.Join(keys, ", "))
}

func text(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}
