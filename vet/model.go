package vet

import (
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const snowkey = "github.com/snowkey-go/snowkey/"

// A column is a field of a model that holds a key.
type column struct {
	model string // the name of the model's type
	table string
	name  string // of the column
	child bool   // whether it holds the key of another table
}

// isPK reports whether a type is one of package pk or its children.
func isPK(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && strings.HasPrefix(pathOf(named.Obj()), snowkey+"schema/pk")
}

// isNumber reports whether a type is that of a key: an integer, or one of package pk.
func isNumber(t types.Type) bool { return isInteger(t) || isPK(element(t)) }

// element returns what a pointer, a slice or an array consists of.
func element(t types.Type) types.Type {
	for {
		switch u := types.Unalias(t).Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		default:
			return t
		}
	}
}

func isInteger(t types.Type) bool { return is(t, types.IsInteger) }

func is(t types.Type, info types.BasicInfo) bool {
	basic, ok := element(t).Underlying().(*types.Basic)
	return ok && basic.Info()&info != 0 && basic.Kind() != types.Uint8 && basic.Kind() != types.Uintptr
}

// canHold reports whether a variable of this type may be followed: an integer, a text, or
// a list of them. A value in an interface is not.
func canHold(t types.Type) bool {
	if isPK(element(t)) {
		return true
	}
	if m, ok := t.Underlying().(*types.Map); ok {
		return canHold(m.Key())
	}
	return is(t, types.IsInteger|types.IsString|types.IsFloat)
}

// structOf returns the struct of a type, behind pointers and lists, and its name.
func structOf(t types.Type) (*types.Struct, *types.Named) {
	t = element(t)
	named, _ := types.Unalias(t).(*types.Named)
	s, _ := t.Underlying().(*types.Struct)
	return s, named
}

// A library knows the fields of rows by their tags.
type library struct {
	tag    string
	key    *regexp.Regexp // of a primary key
	column *regexp.Regexp // finds the name of the column
}

var nameFirst = regexp.MustCompile(`^(\w+)(?:,|$)`)

var libraries = []library{
	{"gorm", regexp.MustCompile(`(?i)(^|;)\s*primary_?key\b`), regexp.MustCompile(`(?i)(?:^|;)\s*column:\s*(\w+)`)},
	{"bun", regexp.MustCompile(`(^|,)pk\b`), nameFirst},
	{"xorm", regexp.MustCompile(`(?i)(^|\s)pk\b`), regexp.MustCompile(`'(\w+)'|\s([a-z_]*id)$`)},
	{"db", regexp.MustCompile(`(?i)^id(,|$)`), nameFirst},
	{"pg", regexp.MustCompile(`(^|,)pk\b`), nameFirst},
	{"orm", regexp.MustCompile(`(^|;)(pk|auto)\b`), regexp.MustCompile(`column\((\w+)\)`)},
}

// A modelInfo is what we know about a struct.
type modelInfo struct {
	table  string
	key    *types.Var // nil if it has several columns
	fields map[*types.Var]column
}

// model returns what is known about a struct, or nil if it isn't a row with a counted or
// generated key.
func (k *keySet) model(s *types.Struct, named *types.Named) *modelInfo {
	if m, ok := k.models[s]; ok {
		return m
	}
	k.models[s] = nil // in case it contains itself
	m := k.readModel(s, named)
	k.models[s] = m
	return m
}

// modelOf returns the model that a type is, or points to, or is a list of, if its keys are to be
// reported.
func (k *keySet) modelOf(t types.Type) *modelInfo {
	if s, named := structOf(t); s != nil {
		if m := k.model(s, named); m != nil && k.wanted(m.table) {
			return m
		}
	}
	return nil
}

func (k *keySet) readModel(s *types.Struct, named *types.Named) *modelInfo {
	name := ""
	if named != nil {
		name = named.Obj().Name()
	}
	m := &modelInfo{table: k.tableOf(named), fields: make(map[*types.Var]column)}
	keys := keyFields(s)
	if len(keys) == 0 {
		keys = k.impliedKey(s, named)
	}
	if len(keys) > 0 {
		key, tag := s.Field(keys[0]), s.Tag(keys[0])
		counts := strings.Contains(strings.ToLower(tag), "autoincr") || reflect.StructTag(tag).Get("snowkey") != ""
		if !isNumber(key.Type()) && !counts {
			return nil // a text that the program makes
		}
	} else if base := k.embedded(s); base == nil || named == nil {
		return nil
	} else {
		m.key = base.key
		for f, c := range base.fields {
			c.model, c.table = name, m.table
			m.fields[f] = c
		}
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		alone := slices.Equal(keys, []int{i})
		if alone {
			m.key = f
		}
		if alone || isNumber(f.Type()) && k.isChild(s, f.Name()) {
			m.fields[f] = column{name, m.table, columnName(f, reflect.StructTag(s.Tag(i))), !alone}
		}
	}
	return m
}

// embedded returns the model that a struct embeds, such as gorm.Model.
func (k *keySet) embedded(s *types.Struct) *modelInfo {
	for f := range s.Fields() {
		if inner, named := structOf(f.Type()); f.Embedded() && inner != nil {
			if base := k.model(inner, named); base != nil {
				return base
			}
		}
	}
	return nil
}

// keyFields returns the fields whose tags make them the primary key, or a part of it.
func keyFields(s *types.Struct) (keys []int) {
	for i := range s.NumFields() {
		tag := reflect.StructTag(s.Tag(i))
		own, ok := tag.Lookup("snowkey")
		if ok && !strings.Contains(own, "-") || slices.ContainsFunc(libraries, func(l library) bool {
			text, ok := tag.Lookup(l.tag)
			return ok && l.key.MatchString(text)
		}) {
			keys = append(keys, i)
		}
	}
	return keys
}

// impliedKey finds the field ID of a struct that is a row for another reason than its tag.
func (k *keySet) impliedKey(s *types.Struct, named *types.Named) []int {
	id := -1
	row := false
	for i := range s.NumFields() {
		f, tag := s.Field(i), reflect.StructTag(s.Tag(i))
		if f.Name() == "ID" || f.Name() == "Id" {
			id = i
		}
		for _, l := range libraries {
			_, ok := tag.Lookup(l.tag)
			row = row || ok
		}
		row = row || f.Embedded() && f.Name() == "BaseModel" // bun
	}
	if id >= 0 && named != nil && (row || isPK(s.Field(id).Type()) || isBase(named) || isEntity(named) || k.rows[named.Obj()] || k.counted[k.tableOf(named)]) {
		return []int{id}
	}
	return nil
}

// isBase reports whether a type is one that models embed.
func isBase(named *types.Named) bool {
	return named != nil && (isNamed(named, "gorm.io/gorm", "Model") || isNamed(named, snowkey+"hooks/gormid", "Model"))
}

// isNamed reports whether a type has this name in a package.
func isNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && pathOf(named.Obj()) == path
}

// isEntity reports whether a type is an entity of ent, which has a client and a query beside
// it.
func isEntity(named *types.Named) bool {
	name, pkg := named.Obj().Name(), named.Obj().Pkg()
	return pkg != nil && !slices.ContainsFunc([]string{"Client", "Query", "Create"}, func(other string) bool {
		return pkg.Scope().Lookup(name+other) == nil
	})
}

func (k *keySet) wanted(table string) bool {
	return k.config.Tables == nil || slices.Contains(k.config.Tables, table)
}

// isChild reports whether a name such as UserID is that of a key in another table: there is
// a model User, or a field User of the same struct. Some names are those of people and trees.
func (k *keySet) isChild(s *types.Struct, name string) bool {
	stem, ok := cutID(name)
	if !ok || stem == "" {
		return false
	}
	switch strings.ToLower(stem) {
	case "parent", "owner", "creator", "author":
		return true
	}
	for field := range s.Fields() {
		if inner, _ := structOf(field.Type()); inner != nil && strings.EqualFold(field.Name(), stem) {
			return true
		}
	}
	return k.isModelName(stem)
}

// isModelName reports whether a name ends with that of a model: user, OwnerUser, owner_user.
func (k *keySet) isModelName(stem string) bool {
	stem = strings.ToLower(strings.ReplaceAll(stem, "_", ""))
	for name := range k.names {
		if strings.HasSuffix(stem, name) {
			return true
		}
	}
	return false
}

// cutID removes the end of a name that makes it the name of an id. All of id is that end.
func cutID(name string) (stem string, ok bool) {
	for _, end := range []string{"ID", "Id", "IDs", "Ids", "_id", "_ids"} {
		if stem, ok := strings.CutSuffix(name, end); ok {
			return stem, true
		}
	}
	return "", name == "id" || name == "ids"
}

// isKeyName reports whether a variable or a column has the name of a key.
func (k *keySet) isKeyName(name string) bool {
	stem, ok := cutID(name)
	return ok && (stem == "" || k.isModelName(stem))
}

// tableOf returns the table of a model: what its method TableName returns, if it's in this
// package, or the name that most libraries derive.
func (k *keySet) tableOf(named *types.Named) string {
	if named == nil {
		return ""
	}
	if name, ok := k.tableNames[named.Obj()]; ok {
		return name
	}
	one := snake(named.Obj().Name())
	if k.counted[one] {
		return one
	}
	return plural(one)
}

func columnName(f *types.Var, tag reflect.StructTag) string {
	for _, l := range libraries {
		if m := l.column.FindStringSubmatch(tag.Get(l.tag)); m != nil {
			return m[1] + strings.Join(m[2:], "")
		}
	}
	return snake(f.Name())
}

var lastCapital, firstCapital = regexp.MustCompile(`([A-Z])([A-Z][a-z])`), regexp.MustCompile(`([a-z0-9])([A-Z])`)

// snake writes UserID as user_id.
func snake(name string) string {
	name = lastCapital.ReplaceAllString(name, "${1}_$2")
	return strings.ToLower(firstCapital.ReplaceAllString(name, "${1}_$2"))
}

func plural(word string) string {
	switch {
	case word == "":
		return ""
	case strings.HasSuffix(word, "y") && !strings.HasSuffix(word, "ay") && !strings.HasSuffix(word, "ey"):
		return word[:len(word)-1] + "ies"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"):
		return word + "es"
	}
	return word + "s"
}
