package bunid

import (
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// A key is the one primary key of a model, which is to be filled.
type key struct {
	*schema.Field
	table *schema.Table
}

// keyOf returns the key of a model that is filled. It refuses declarations
// under which a key is cut short, made by somebody else or left out.
func keyOf(t *schema.Table) (*key, error) {
	if len(t.PKs) == 0 {
		return nil, &ModelError{Model: modelName(t), Problem: "has no primary key", Remedy: `tag the key bun:",pk"`}
	}
	k := &key{Field: t.PKs[0], table: t}
	if why := given(t); why != "" {
		return nil, k.fault(why+", which is not filled", "set it yourself, and do not embed bunid.Filled or call bunid.Fill")
	}
	switch {
	case k.IsPtr:
		return nil, k.fault("is a pointer", "declare it as pk.ID; a zero key is filled")
	case !keytype.Holds(k.IndirectType):
		return nil, k.fault("cannot hold a 64-bit key", "declare it as pk.ID, int64, uint64 or string")
	case k.AutoIncrement, k.Identity, numbering(k.CreateTableSQLType):
		return nil, k.fault("is numbered by the database", "remove autoincrement, identity or the serial type from its bun tag")
	case k.SQLDefault != "":
		return nil, k.fault("has a default", "remove the default from its bun tag")
	case k.NullZero:
		return nil, k.fault("is left out by bun when it is zero", "remove nullzero from its bun tag")
	case !k.fits(t.Dialect().Name()):
		return nil, k.fault(fmt.Sprintf("has a column that cannot hold every key (%s)", k.CreateTableSQLType),
			"give its bun tag the type that package pk names for "+k.IndirectType.String())
	}
	return k, nil
}

func (k *key) fault(problem, remedy string) error {
	return &ModelError{Model: modelName(k.table), Field: k.GoName, Type: k.StructField.Type.String(), Problem: problem, Remedy: remedy}
}

// given says why the caller must set the primary keys of t; "" if there is one
// that can be filled.
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

// isForeignKey reports whether f refers to another row, by a relation of t
// itself. What other models say of it is known to Use; see referred.
func isForeignKey(f *schema.Field, t *schema.Table) bool {
	for _, rel := range t.Relations {
		if rel.Type == schema.BelongsToRelation && slices.Contains(rel.BasePKs, f) {
			return true
		}
	}
	return false
}

// numbering reports whether a column of this type makes numbers of its own.
func numbering(column string) bool {
	column = strings.ToLower(column)
	return strings.Contains(column, "serial") || strings.Contains(column, "auto_increment") || strings.Contains(column, "identity")
}

// fits reports whether the column can hold every key. Unknown types pass.
func (k *key) fits(name dialect.Name) bool {
	largest, _ := driver.DefaultParameterConverter.ConvertValue(k.value(math.MaxInt64).Interface())
	text, _ := largest.(string)
	_, err := strconv.ParseInt(text, 10, 64)
	sortable := text != "" && err != nil // such as 7ZZZZZZZZZZZZ

	column := ddl.ParseType(k.CreateTableSQLType)
	switch column.Class() {
	case ddl.Float:
		return false // 53 bits at most, on every database
	case ddl.Int:
		return !sortable && name == dialect.SQLite // where every integer has 64 bits
	case ddl.BigInt:
		return !sortable
	case ddl.Char:
		size, limited := column.Digits()
		return !limited || size >= len(fmt.Sprint(largest))
	}
	return true
}

// value returns id as the key's own type, which knows how the column wants it.
func (k *key) value(id int64) reflect.Value {
	v := reflect.New(k.IndirectType).Elem()
	keytype.Set(v, id)
	return v
}
