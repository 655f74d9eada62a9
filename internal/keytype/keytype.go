// Package keytype decides which Go types can hold a key, and gets and sets fields of
// these types.
package keytype

import (
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/pk"
)

var pkPath = reflect.TypeFor[pk.ID]().PkgPath()

// IsPK reports whether t is one of the types of package pk or pk/public. We have to go by
// the package path, because there is no way to list all instances of pk.Of.
func IsPK(t reflect.Type) bool {
	path := strings.TrimSuffix(t.PkgPath(), "/public")
	return path == pkPath && (t.Kind() == reflect.Int64 || t.Kind() == reflect.String)
}

// Holds reports whether t can hold every key, which takes 64 bits or decimal text.
func Holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int64, reflect.Uint64, reflect.String:
		return true
	case reflect.Int, reflect.Uint:
		return t.Bits() == 64
	}
	return false
}

// Empty reports whether v holds no key, which is the case if it is the zero value, the
// text "0", or a pointer to one of these. We include "0" because JSON such as {"id":0}
// sets a pk.String to "0".
func Empty(v reflect.Value) bool {
	return v.IsZero() || v.Kind() == reflect.String && v.String() == "0" || v.Kind() == reflect.Pointer && Empty(v.Elem())
}

// Set stores the key id in v. The type of v must be able to hold keys, or point to a
// type that is. A pointer is always replaced with a new one, because two rows may share
// a pointer to the same zero.
func Set(v reflect.Value, id int64) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Set(v.Elem(), id)
	case reflect.String:
		v.SetString(strconv.FormatInt(id, 10))
	case reflect.Uint, reflect.Uint64:
		v.SetUint(uint64(id))
	default:
		v.SetInt(id)
	}
}

// Get returns the key that Set has stored in v, which isn't a pointer. It returns false if v is
// text but not a number.
func Get(v reflect.Value) (id int64, ok bool) {
	switch v.Kind() {
	case reflect.String:
		id, err := strconv.ParseInt(strings.TrimRight(v.String(), " "), 10, 64) // a CHAR is padded
		return id, err == nil
	case reflect.Uint, reflect.Uint64:
		return int64(v.Uint()), true
	}
	return v.Int(), true
}

// New returns a settable value of type t that holds id. See [Set] for which types are
// allowed.
func New(t reflect.Type, id int64) reflect.Value {
	v := reflect.New(t).Elem()
	Set(v, id)
	return v
}

// Narrow reports whether a column is too narrow for some keys of type t, which must be able
// to hold keys. If it doesn't know the type of the column, it returns false.
func Narrow(t reflect.Type, column ddl.Type, sqlite bool) bool {
	switch column.Class() {
	case ddl.Float:
		return true // 53 bits at most, on every database
	case ddl.Int:
		return !sqlite // where every integer has 64 bits
	case ddl.Char, ddl.Decimal:
		size, limited := column.Digits()
		return limited && size < len(fmt.Sprint(longest(t)))
	}
	return false
}

// Clash returns a problem and its remedy if keys of type t are text but the column
// stores numbers, or the other way around. If they don't clash, both are empty. With
// such a column, databases compare some keys as floating-point numbers, so a query may
// also find rows with neighbouring keys, or it may find no row at all.
func Clash(t reflect.Type, column ddl.Type) (problem, remedy string) {
	text := TextSize(t) > 0
	switch column.Class() {
	case ddl.Char, ddl.Text:
		if !text {
			return "is an integer in a column of text (" + column.Name + ")", "declare it as pk.Text or pk.SortText, or give the column the type bigint"
		}
	case ddl.Int, ddl.BigInt, ddl.Decimal, ddl.Float:
		if text {
			return "is text in a column of numbers (" + column.Name + ")", "declare it as pk.String, which is a string in Go, or give the column the type varchar(20)"
		}
	}
	return "", ""
}

// TextSize returns the length of the longest key in characters if t stores keys as
// text, or 0 if it doesn't.
func TextSize(t reflect.Type) int {
	if !Holds(t) {
		return 0
	}
	text, _ := longest(t).(string)
	return len(text)
}

// longest returns what is sent to the database for the longest key of type t.
func longest(t reflect.Type) driver.Value {
	v, _ := driver.DefaultParameterConverter.ConvertValue(New(t, math.MaxInt64).Interface())
	return v
}

// Quoted returns a problem and its remedy if the field of a key has the option string in its
// json tag. jsoniter, which some builds of gin use, then writes the quotes twice, and
// encoding/json refuses every pk.SortText and pk.Prefixed.
func Quoted(f reflect.StructField) (problem, remedy string) {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, options, _ := strings.Cut(f.Tag.Get("json"), ","); IsPK(t) && slices.Contains(strings.Split(options, ","), "string") {
		return "has the option string in its json tag, although it is a string in JSON by itself", "remove the option, because some libraries then write \"\"1\"\""
	}
	return "", ""
}
