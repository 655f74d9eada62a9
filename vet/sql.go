package vet

import (
	"go/ast"
	"go/types"
	"iter"
	"regexp"
	"strconv"
	"strings"
)

// A text is a constant text of the program, where it's written.
type text struct {
	ast.Expr
	value   string
	sql     bool
	written bool // by a person, and not in a test
	copied  bool // by sqlc, from what a person has written
}

var (
	isSQL      = regexp.MustCompile(`(?is)^[\s(]*(--[^\n]*\n\s*)*(INSERT|REPLACE|SELECT|UPDATE|DELETE|CREATE|ALTER|WITH)\b`)
	createSQL  = regexp.MustCompile("(?is)\\bCREATE\\s+(?:TEMP(?:ORARY)?\\s+)?TABLE\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?([\\w.\"`]+)\\s*\\((.*?)(?:;|$)")
	countsSQL  = regexp.MustCompile(`(?i)\b(AUTO_?INCREMENT|(?:BIG|SMALL)?SERIAL[248]?|GENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY|NEXTVAL\s*\(|INTEGER\s+(?:NOT\s+NULL\s+)?PRIMARY\s+KEY)`)
	insertSQL  = regexp.MustCompile("(?is)\\b(?:INSERT|REPLACE)\\s+(?:OR\\s+\\w+\\s+|IGNORE\\s+)?INTO\\s+([\\w.\"`]+)\\s*(?:AS\\s+\\w+\\s*)?(\\(([^()]*)\\)|DEFAULT\\s+VALUES)")
	valuesSQL  = regexp.MustCompile(`(?is)\bVALUES\s*\(([^()]*)\)`)
	comparison = regexp.MustCompile("(?i)([\\w.\"`]+)\\s*(?:=|<>|!=|<=|>=|<|>|\\bIN\\b)\\s*(?:ANY\\s*)?\\(?\\s*(\\?|\\$\\d+)")
	holder     = regexp.MustCompile(`\?|\$\d+`)
)

// readTexts finds the texts of a package.
func (k *keySet) readTexts() {
	for _, f := range k.Files {
		t := text{written: !k.isTest(f) && !ast.IsGenerated(f), copied: !k.isTest(f) && isGeneratedBy(f, "sqlc")}
		end, ok := f.Pos(), false
		each([]*ast.File{f}, func(e ast.Expr) {
			if t.value, ok = k.text(e); !ok || e.Pos() < end {
				return
			}
			end = e.End() // the parts of a constant are constants too
			switch e.(type) {
			case *ast.Ident, *ast.SelectorExpr: // written elsewhere
			default:
				t.Expr, t.sql = e, isSQL.MatchString(t.value)
				k.texts = append(k.texts, new(t))
			}
		})
	}
}

// addCounted adds to tables those that SQL creates with a key that counts.
func addCounted(tables map[string]bool, text string) {
	for _, m := range createSQL.FindAllStringSubmatch(text, -1) {
		if countsSQL.MatchString(m[2]) {
			tables[bare(m[1])] = true
		}
	}
}

// bare removes quotes and the schema from a name.
func bare(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '"' || r == '`' {
			return -1
		}
		return r
	}, name)
	return name[strings.LastIndexByte(name, '.')+1:]
}

var endsInES = regexp.MustCompile(`([sxz]|ch|sh)es$`)

// singulars returns the words that a table's name may be the plural of. Only a dictionary knows
// that a cache is one of the caches, but a match one of the matches.
func singulars(table string) []string {
	stem := strings.TrimSuffix(table, "s")
	switch {
	case strings.HasSuffix(table, "ss"):
		return []string{table}
	case strings.HasSuffix(table, "ies"):
		return []string{stem, strings.TrimSuffix(stem, "ie") + "y"}
	case endsInES.MatchString(table):
		return []string{stem, strings.TrimSuffix(stem, "e")}
	}
	return []string{stem}
}

// placeholders returns the columns that the arguments of a query are compared with or
// stored in, by the position of the argument.
func placeholders(query string) map[int]string {
	all := inserted(query)
	for _, m := range comparison.FindAllStringSubmatchIndex(query, -1) {
		all[argument(query, m[4], m[5])] = bare(query[m[2]:m[3]])
	}
	return all
}

// eachArgument calls do for the arguments that the placeholders of a query stand for. The function
// columns finds their columns, by position.
func (k *keySet) eachArgument(call *ast.CallExpr, columns func(query string) map[int]string, do func(query, column string, arg ast.Expr)) {
	for i, arg := range call.Args {
		query, ok := k.text(arg)
		if !ok || !strings.ContainsAny(query, "?$") {
			continue
		}
		for position, column := range columns(query) {
			if at := i + 1 + position; at < len(call.Args) {
				do(query, column, call.Args[at])
			}
		}
	}
}

// argument returns the position of the argument that a placeholder stands for.
func argument(query string, start, end int) int {
	if n, err := strconv.Atoi(strings.TrimPrefix(query[start:end], "$")); err == nil {
		return n - 1
	}
	return strings.Count(query[:start], "?")
}

// inserted returns the columns that the arguments of an INSERT are stored in.
func inserted(query string) map[int]string {
	all := make(map[int]string)
	insert, values := insertSQL.FindStringSubmatchIndex(query), valuesSQL.FindStringSubmatchIndex(query)
	if insert == nil || insert[6] < 0 || values == nil {
		return all
	}
	columns := strings.Split(query[insert[6]:insert[7]], ",")
	offset := values[2]
	for i, value := range strings.Split(query[values[2]:values[3]], ",") {
		if m := holder.FindStringIndex(value); m != nil && i < len(columns) {
			all[argument(query, offset+m[0], offset+m[1])] = bare(strings.TrimSpace(columns[i]))
		}
		offset += len(value) + 1
	}
	return all
}

// keyColumn returns the name of a table's key, if the table is one whose keys are counted or
// generated.
func (k *keySet) keyColumn(table string) (string, bool) {
	if !k.wanted(table) {
		return "", false
	}
	for t, m := range k.modelsOf(k.visible()) {
		if m.key != nil && (m.table == table || snake(t.Name()) == table) {
			return m.fields[m.key].name, true
		}
	}
	return "id", k.counted[table]
}

// visible returns this package and those that it imports.
func (k *keySet) visible() []*types.Package {
	return append([]*types.Package{k.Pkg}, k.Pkg.Imports()...)
}

// modelsOf yields the models that packages declare.
func (k *keySet) modelsOf(pkgs []*types.Package) iter.Seq2[*types.TypeName, *modelInfo] {
	return func(yield func(*types.TypeName, *modelInfo) bool) {
		for _, pkg := range pkgs {
			for _, name := range pkg.Scope().Names() {
				t, ok := pkg.Scope().Lookup(name).(*types.TypeName)
				if !ok || isStandard(pkg.Path()) {
					continue
				}
				if m := k.modelOf(t.Type()); m != nil && !yield(t, m) {
					return
				}
			}
		}
	}
}
