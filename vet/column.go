package vet

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	countsTag = regexp.MustCompile(`(?i)auto_?incr\w*(:false)?|\b(big|small)?serial\b|\bidentity\b`)
	narrowTag = regexp.MustCompile(`(?i)\bsize:\s*(8|16|32)\b|\b(tiny|small|medium)?int(eger|4|2)?(\(\d+\))?($|[;,\s])`)
	gormInt   = regexp.MustCompile(`(?i)\btype:\s*u?int\s*(;|$)`) // GORM takes the size of the Go type
	clauses   = regexp.MustCompile(`(?i)\b(AUTO_?INCREMENT|(?:BIG|SMALL)?SERIAL[248]?\b|GENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY|NEXTVAL\s*\()`)
	isDDL     = regexp.MustCompile(`(?i)\b(CREATE|ALTER)\s+(TABLE|SEQUENCE)\b|\bNEXTVAL\s*\(`)
)

func checkColumn(k *keySet, n ast.Node) {
	switch n := n.(type) {
	case *ast.TypeSpec:
		k.eachField(n, k.checkField)
	case *text:
		if m := clauses.FindString(n.value); m != "" && n.sql && isDDL.MatchString(n.value) && k.wantsSQL(n.value) {
			k.report(Check, n, "SQL with %s numbers rows", strings.ToUpper(strings.Join(strings.Fields(strings.TrimSuffix(m, "(")), " ")))
		}
	case *ast.CallExpr:
		if fn := k.callee(n); fn != nil {
			k.migration(n, fn)
			k.entField(n, fn)
		}
	}
}

// wantsSQL reports whether SQL is about a table that the plan touches.
func (k *keySet) wantsSQL(text string) bool {
	tables := createSQL.FindAllStringSubmatch(text, -1)
	return len(tables) == 0 || slices.ContainsFunc(tables, func(m []string) bool { return k.wanted(bare(m[1])) })
}

// checkField checks a field of a model.
func (k *keySet) checkField(of *types.TypeName, field *types.Var, at *ast.Ident, tag *ast.BasicLit) {
	c, ok := k.columnOf(of.Type(), field)
	if !ok {
		return
	}
	what := "key"
	if c.child {
		what = "child"
	}
	if basic, ok := typeOf[*types.Basic](element(field.Type())); ok && widths[basic.Kind()] > 0 {
		k.report(Breaks, at, "The %s %s.%s has %d bits", what, c.model, field.Name(), widths[basic.Kind()])
	} else if tag != nil {
		k.tag(tag, what, c.model+"."+field.Name())
	}
}

func (k *keySet) tag(tag *ast.BasicLit, what, name string) {
	for _, l := range libraries {
		text := parseTag(tag).Get(l.tag)
		if l.tag == "gorm" {
			text = gormInt.ReplaceAllString(text, "")
		}
		if m := narrowTag.FindString(text); m != "" {
			k.report(Breaks, tag, "The %s %s has a column of fewer than 64 bits: %s", what, name, strings.TrimRight(m, ";, "))
			return
		}
		if m := countsTag.FindStringSubmatch(text); m != nil && m[1] == "" {
			k.report(Breaks, tag, "The database numbers %s: %s", name, m[0])
			return
		}
	}
}

var inMigrations = regexp.MustCompile(`(?i)migrat`)

// migration checks calls that change columns, or create the tables of models, in migrations.
func (k *keySet) migration(call *ast.CallExpr, fn *types.Func) {
	path, file := pathOf(fn), k.Fset.File(call.Pos()).Name()
	switch {
	case strings.HasPrefix(path, "gorm.io/gorm") && fn.Name() == "AlterColumn" && len(call.Args) == 2:
		name, _ := k.text(call.Args[1])
		if m := k.modelOf(k.TypesInfo.TypeOf(call.Args[0])); m != nil {
			for f, c := range m.fields {
				if f.Name() == name || c.name == name {
					k.report(Breaks, call, "AlterColumn changes the key %s.%s, and waits for its whole table", c.table, c.name)
				}
			}
		}
	case inMigrations.MatchString(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))) &&
		(strings.HasPrefix(path, "xorm.io/xorm") && strings.HasPrefix(fn.Name(), "Sync") || strings.HasPrefix(path, "gorm.io/gorm") && fn.Name() == "AutoMigrate"):
		for _, arg := range call.Args {
			s, named := structOf(k.TypesInfo.TypeOf(arg))
			if s == nil || named == nil || named.Obj().Pkg() == k.Pkg || k.model(s, named) == nil {
				continue
			}
			k.reportRemedy(Check, call, "Copy the struct as it was into the migration", nil,
				"A migration uses today's %s.%s, so it changes when the model's key does", named.Obj().Pkg().Name(), named.Obj().Name())
			return
		}
	}
}

// entField checks fields of ent's schemas: field.Int32("id"), field.Int("user_id").
func (k *keySet) entField(call *ast.CallExpr, fn *types.Func) {
	if pathOf(fn) != "entgo.io/ent/schema/field" || len(call.Args) != 1 {
		return
	}
	name, ok := k.text(call.Args[0])
	if !ok || !k.isKeyName(name) {
		return
	}
	switch fn.Name() {
	case "Int8", "Int16", "Int32", "Uint8", "Uint16", "Uint32":
		k.report(Breaks, call, "The field %s of an ent schema has fewer than 64 bits: %s", name, fn.Name())
	}
}
