// Package sqlid fills the keys of structs before they are inserted. It is for programs
// with database/sql, sqlx or any library that writes structs and has no hooks.
//
//	type User struct {
//		ID   pk.ID  `db:"id"`
//		Name string `db:"name"`
//	}
//
//	if err := sqlid.Fill(ctx, &user); err != nil { // or a slice: sqlid.Fill(ctx, users)
//		return err
//	}
//	_, err := db.NamedExecContext(ctx, `INSERT INTO users (id, name) VALUES (:id, :name)`, user)
//
// The keys come from [idgen.Default], or from the source of a [Filler].
//
// # Which field is the key
//
// The key is the field tagged snowkey. Without such a tag it is the field ID or Id, if
// its type is one of package pk. If two fields look like the key, Fill fails. Fields of
// embedded structs count if Go promotes them. The value of the tag is the name of one
// of the pool's generators, or empty for the pool itself:
//
//	ID     pk.ID                      // or pk.Of[User], pk.Text, pk.SortText, pk.String
//	ID     *pk.ID                     // nil, or a pointer to zero, is filled with a new pointer
//	ID     int64  `snowkey:""`        // or uint64, string, or a named type
//	Number pk.ID  `snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID  `snowkey:"-"`       // the caller sets it
//
// A string is filled with decimal text. A key tagged snowkey:"-" is not filled, and
// Fill fails if it is zero. If several fields have this tag, only the first is checked.
//
// # Guarantees
//
// After Fill, either every row has a key, or Fill has failed and no row has changed. A
// zero key is filled and any other key is kept. The keys ascend in the order of the
// slice, because all keys of one call are generated together. If the declaration of a
// struct does not let its key be filled, the error is a [FieldError]. If rows cannot be
// filled, it is a [RowError], which wraps the generator's error if there is one.
//
// Fill inspects each type once and caches the result. It keeps no reference to rows.
package sqlid
