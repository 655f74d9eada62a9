package fill

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"reflect"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// At generates ids for the times of rows. valueOf returns the value of a field in a row,
// or nil if there is none. A row of -1 is the only one of a call.
func (k Key) At(b *idgen.Backfill, rows []int, valueOf func(row int, field string) any) ([]int64, error) {
	field := b.Config().Field
	times := make([]time.Time, len(rows))
	for i, row := range rows {
		if times[i] = timeOf(valueOf(row, field)); times[i].IsZero() {
			return nil, k.Refuse(row, nil, "has no time in "+field+", which an *idgen.Backfill needs", "set it, or name another field in idgen.BackfillConfig")
		}
	}
	ids, err := b.At(cmp.Or(k.Generator, k.Model), times)
	if of, ok := errors.AsType[interface {
		error
		Row() int
	}](err); ok {
		return nil, k.Refuse(rows[of.Row()], err, "got no key: "+errors.Unwrap(of).Error(), "nothing was changed")
	}
	return ids, err
}

// timeOf returns the time in the value of a field, or the zero time.
func timeOf(value any) time.Time {
	if v := reflect.ValueOf(value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return time.Time{}
	}
	switch v := value.(type) {
	case interface{ UTC() time.Time }: // also a struct that embeds a time
		return v.UTC()
	case driver.Valuer:
		value, _ = v.Value()
		t, _ := value.(time.Time)
		return t
	}
	return time.Time{}
}

// FieldOf returns the value of a field in a struct, or nil if there is none.
func FieldOf(row reflect.Value, name string) any {
	f, ok := row.Type().FieldByName(name)
	if !ok || !f.IsExported() {
		return nil
	}
	v, err := row.FieldByIndexErr(f.Index)
	if err != nil { // an embedded struct is a nil pointer
		return nil
	}
	return v.Interface()
}
