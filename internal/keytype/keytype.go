// Package keytype knows the Go types that can hold a key. The integrations ask
// it about the types of their users' fields.
package keytype

import (
	"database/sql/driver"
	"math"
	"reflect"
	"strconv"

	"github.com/snowkey-go/snowkey/schema/pk"
)

var pkPath = reflect.TypeFor[pk.ID]().PkgPath()

// IsPK reports whether t is one of pk's types. It goes by the package, because
// the instances of pk.Of cannot be listed.
func IsPK(t reflect.Type) bool {
	return t.PkgPath() == pkPath && (t.Kind() == reflect.Int64 || t.Kind() == reflect.String)
}

// Holds reports whether t has room for every key: 64 bits, or decimal text.
func Holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int64, reflect.Uint64, reflect.String:
		return true
	case reflect.Int, reflect.Uint:
		return t.Bits() == 64
	}
	return false
}

// Set stores a key in v, whose type must hold it.
func Set(v reflect.Value, id int64) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strconv.FormatInt(id, 10))
	case reflect.Uint, reflect.Uint64:
		v.SetUint(uint64(id))
	default:
		v.SetInt(id)
	}
}

// TextSize returns how many characters the longest key has that t writes as
// text, or 0 if t writes numbers. The type must hold keys.
func TextSize(t reflect.Type) int {
	v := reflect.New(t).Elem()
	Set(v, math.MaxInt64)
	longest, _ := driver.DefaultParameterConverter.ConvertValue(v.Interface())
	text, _ := longest.(string)
	return len(text)
}
