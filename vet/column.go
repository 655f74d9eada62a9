package vet

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
)

var columnRule = rule{
	name:   "column",
	finds:  "tags, types and SQL that declare a key or its children as counted or narrow, and migrations that use today's models",
	remedy: "Declare BIGINT without auto-increment, and widen existing columns with snowkey migrate",
	page:   "leaving-auto-increment.md#gorm",
	run:    runColumn,
}

var (
	countsTag = regexp.MustCompile(`(?i)auto_?incr\w*(:false)?|\b(big|small)?serial\b|\bidentity\b`)
	narrowTag = regexp.MustCompile(`(?i)\bsize:\s*(8|16|32)\b|\b(tiny|small|medium)?int(eger|4|2)?(\(\d+\))?($|[;,\s])`)
	gormInt   = regexp.MustCompile(`(?i)\btype:\s*u?int\s*(;|$)`) // GORM takes the size of the Go type
	clauses   = regexp.MustCompile(`(?i)\b(AUTO_?INCREMENT|(?:BIG|SMALL)?SERIAL[248]?\b|GENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY|NEXTVAL\s*\()`)
	isDDL     = regexp.MustCompile(`(?i)\b(CREATE|ALTER)\s+(TABLE|SEQUENCE)\b|\bNEXTVAL\s*\(`)
)

func runColumn(p *pass) {
	p.eachField(p.column)
	for _, s := range p.keys.statements {
		if m := clauses.FindString(s.text); m != "" && s.reported && isDDL.MatchString(s.text) && p.wantsSQL(s.text) {
			p.report(Check, s.at, "SQL with %s numbers rows", strings.ToUpper(strings.Join(strings.Fields(strings.TrimSuffix(m, "(")), " ")))
		}
	}
	p.eachCall(p.migration)
	p.eachCall(p.entField)
}

// wantsSQL reports whether SQL is about a table that the plan touches.
func (p *pass) wantsSQL(text string) bool {
	m := createSQL.FindAllStringSubmatch(text, -1)
	for _, table := range m {
		if p.keys.wanted(bare(table[1])) {
			return true
		}
	}
	return len(m) == 0
}

// column checks a field of a model.
func (p *pass) column(of *types.TypeName, field *types.Var, at *ast.Ident, tag *ast.BasicLit) {
	c, ok := p.keys.columnOf(of.Type(), field)
	if !ok {
		return
	}
	what := "key"
	if c.child {
		what = "child"
	}
	if basic, ok := typeOf[*types.Basic](element(field.Type())); ok && widths[basic.Kind()] > 0 {
		p.report(Breaks, at, "The %s %s.%s has %d bits", what, c.model, field.Name(), widths[basic.Kind()])
	} else if tag != nil {
		p.tag(tag, what, c.model+"."+field.Name())
	}
}

func (p *pass) tag(tag *ast.BasicLit, what, name string) {
	for _, l := range libraries {
		text := parseTag(tag).Get(l.tag)
		if l.tag == "gorm" {
			text = gormInt.ReplaceAllString(text, "")
		}
		if m := narrowTag.FindString(text); m != "" {
			p.report(Breaks, tag, "The %s %s has a column of fewer than 64 bits: %s", what, name, strings.TrimRight(m, ";, "))
			return
		}
		if m := countsTag.FindStringSubmatch(text); m != nil && m[1] == "" {
			p.report(Breaks, tag, "The database numbers %s: %s", name, m[0])
			return
		}
	}
}

var inMigrations = regexp.MustCompile(`(?i)migrat`)

// migration checks calls that change columns, or create the tables of models, in migrations.
func (p *pass) migration(call *ast.CallExpr, fn *types.Func) {
	path, file := pathOf(fn), p.Fset.File(call.Pos()).Name()
	switch {
	case strings.HasPrefix(path, "gorm.io/gorm") && fn.Name() == "AlterColumn" && len(call.Args) == 2:
		name, _ := p.keys.text(call.Args[1])
		if m := p.keys.modelOf(p.TypesInfo.TypeOf(call.Args[0])); m != nil {
			for f, c := range m.fields {
				if f.Name() == name || c.name == name {
					p.report(Breaks, call, "AlterColumn changes the key %s.%s, and waits for its whole table", c.table, c.name)
				}
			}
		}
	case inMigrations.MatchString(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))) &&
		(strings.HasPrefix(path, "xorm.io/xorm") && strings.HasPrefix(fn.Name(), "Sync") || strings.HasPrefix(path, "gorm.io/gorm") && fn.Name() == "AutoMigrate"):
		for _, arg := range call.Args {
			s, named := structOf(p.TypesInfo.TypeOf(arg))
			if s == nil || named == nil || named.Obj().Pkg() == p.Pkg || p.keys.model(s, named) == nil {
				continue
			}
			p.reportRemedy(Check, call, "Copy the struct as it was into the migration", nil,
				"A migration uses today's %s.%s, so it changes when the model's key does", named.Obj().Pkg().Name(), named.Obj().Name())
			return
		}
	}
}

// entField checks fields of ent's schemas: field.Int32("id"), field.Int("user_id").
func (p *pass) entField(call *ast.CallExpr, fn *types.Func) {
	if pathOf(fn) != "entgo.io/ent/schema/field" || len(call.Args) != 1 {
		return
	}
	name, ok := p.keys.text(call.Args[0])
	if !ok || !p.keys.isKeyName(name) {
		return
	}
	switch fn.Name() {
	case "Int8", "Int16", "Int32", "Uint8", "Uint16", "Uint32":
		p.report(Breaks, call, "The field %s of an ent schema has fewer than 64 bits: %s", name, fn.Name())
	}
}
