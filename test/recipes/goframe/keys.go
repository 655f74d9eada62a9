// Package goframe has the hook for GoFrame that docs/sql.md describes.
package goframe

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gogf/gf/v2/database/gdb"
	"github.com/gogf/gf/v2/frame/g"
	"github.com/gogf/gf/v2/util/gconv"

	"github.com/snowkey-go/snowkey/idgen"
)

// Keys returns a hook that fills the column id.
func Keys(source idgen.Source) gdb.HookHandler {
	return gdb.HookHandler{Insert: func(ctx context.Context, in *gdb.HookInsertInput) (sql.Result, error) {
		var empty []gdb.Map
		for _, row := range in.Data {
			if id := gconv.String(row["id"]); id == "" || id == "0" {
				empty = append(empty, row)
			}
		}
		if len(empty) > 0 && changesKeys(in.Option) {
			return nil, errors.New(`existing rows would get other keys: call Save with OnDuplicateEx("id")`)
		}
		ids, err := source.Append(ctx, nil, len(empty))
		if err != nil {
			return nil, err
		}
		for i, row := range empty {
			row["id"] = ids[i]
		}
		result, err := in.Next(ctx)
		if err != nil || in.Option.InsertOption != gdb.InsertOptionDefault {
			return result, err
		}
		return inserted{result, gconv.Int64(in.Data[0]["id"])}, nil
	}}
}

// changesKeys reports whether an insert gives a new key to a row that exists.
func changesKeys(o gdb.DoInsertOption) bool {
	switch o.InsertOption {
	case gdb.InsertOptionReplace:
		return true
	case gdb.InsertOptionSave:
		return o.OnDuplicateStr == "" && (len(o.OnDuplicateMap) == 0 || o.OnDuplicateMap["id"] != nil)
	}
	return false
}

// inserted returns the key of the first row, for InsertAndGetId.
type inserted struct {
	sql.Result
	id int64
}

func (r inserted) LastInsertId() (int64, error) { return r.id, nil }

// DoUser is the do struct of an entity.
type DoUser struct {
	g.Meta `orm:"table:users, do:true"`
	Id     any
	Name   any
	N      any
}

// CreateUser inserts a user and returns its key.
func CreateUser(ctx context.Context, db gdb.DB, keys gdb.HookHandler, user DoUser) (id int64, err error) {
	return db.Model("users").Ctx(ctx).Hook(keys).Data(user).InsertAndGetId()
}
