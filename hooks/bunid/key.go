package bunid

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// A key describes the primary key of a model.
type key struct {
	*schema.Field
	fill.Key
	table *schema.Table
}

func newKey(f *schema.Field, t *schema.Table) *key {
	return &key{Field: f, table: t, Key: fill.Key{Package: "bunid", Model: modelName(t),
		Field: f.GoName, Type: f.StructField.Type.String(), Generator: f.StructField.Tag.Get("snowkey")}}
}

// fillable caches the models whose declarations have been checked.
var fillable sync.Map // declaration → nil

type declaration struct {
	model reflect.Type
	on    dialect.Name
}

// keyOf returns the key of a model whose keys we fill. It returns an error if a key would be
// truncated, numbered by the database or left out because of the way it's declared.
func keyOf(t *schema.Table) (*key, error) {
	if len(t.PKs) == 0 {
		return nil, fault(modelName(t), "has no primary key", `tag the key bun:",pk"`)
	}
	k := newKey(t.PKs[0], t)
	d := declaration{t.Type, t.Dialect().Name()}
	if _, known := fillable.Load(d); !known {
		if err := k.check(d.on); err != nil {
			return nil, err
		}
		fillable.Store(d, nil)
	}
	return k, nil
}

func (k *key) check(on dialect.Name) error {
	column := ddl.ParseType(k.CreateTableSQLType)
	why := given(k.table)
	switch {
	case why != "":
		return k.Fault(why+", which is not filled", "set it yourself, and do not embed bunid.Filled or call bunid.Fill")
	case k.IsPtr:
		return k.Fault("is a pointer", "declare it as pk.ID; a zero key is filled")
	case !keytype.Holds(k.IndirectType):
		return k.Fault("cannot hold a 64-bit key", "declare it as pk.ID, int64, uint64 or string")
	case numbered(k.Field):
		return k.Fault("is numbered by the database", "remove autoincrement, identity or the serial type from its bun tag")
	case k.SQLDefault != "":
		return k.Fault("has a default", "remove the default from its bun tag")
	case k.NullZero:
		return k.Fault("is left out by bun when it is zero", "remove nullzero from its bun tag")
	case keytype.Narrow(k.IndirectType, column, on == dialect.SQLite):
		return k.Fault(fmt.Sprintf("has a column that cannot hold every key (%s)", k.CreateTableSQLType),
			"give its bun tag the type that package pk names for "+k.IndirectType.String())
	case on == dialect.PG && k.IndirectType.Kind() == reflect.String && !keytype.IsPK(k.IndirectType) &&
		slices.Contains([]string{"char", "character", "bpchar"}, column.Name):
		return k.Fault("has a column that pads the key with spaces ("+k.CreateTableSQLType+")", "give its bun tag type:varchar(20)")
	}
	if problem, remedy := keytype.Clash(k.IndirectType, column); problem != "" {
		return k.Fault(problem, remedy)
	}
	return nil
}

// given returns the reason why the caller must set the primary keys of t, or "" if there's one
// that we can fill.
func given(t *schema.Table) string {
	switch {
	case len(t.PKs) != 1:
		return "is part of a composite key"
	case t.PKs[0].StructField.Tag.Get("snowkey") == "-":
		return `is tagged snowkey:"-"`
	case isForeignKey(t.PKs[0], t):
		return "is a foreign key"
	}
	return ""
}

// isForeignKey reports whether f refers to another row by a relation of t. Relations of
// other models are checked by Use, in referred.
func isForeignKey(f *schema.Field, t *schema.Table) bool {
	for _, rel := range t.Relations {
		if rel.Type == schema.BelongsToRelation && slices.Contains(rel.BasePKs, f) {
			return true
		}
	}
	return false
}

// numbered reports whether the database numbers the rows in the column of f.
func numbered(f *schema.Field) bool {
	column := strings.ToLower(f.CreateTableSQLType)
	return f.AutoIncrement || f.Identity ||
		strings.Contains(column, "serial") || strings.Contains(column, "auto_increment") || strings.Contains(column, "identity")
}
