// Package sqlid sets the keys of structs before your program inserts them. Use it with
// database/sql, sqlx, and other libraries that write structs but have no hooks.
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
// Keys come from [idgen.Default]. To use another source, create a [Filler].
//
// # Which field is the key
//
// Fill sets the field with the snowkey tag. If there's none, it sets the field named ID or
// Id, provided that its type is from package pk. The field may be promoted from an embedded
// struct. If two fields fit, Fill returns an error. The value of the tag is the name of one
// of the pool's generators, or empty for the pool itself:
//
//	ID     pk.ID                      // or pk.Of[User], pk.Text, pk.SortText, pk.String
//	ID     *pk.ID                     // nil, or a pointer to zero, is filled with a new pointer
//	ID     int64  `snowkey:""`        // or uint64, string, or a named type
//	Number pk.ID  `snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID  `snowkey:"-"`       // the caller sets it
//
// Fields of type string get decimal text. If a key is tagged snowkey:"-", the caller must set
// it before calling Fill, which returns an error if it's zero. If several fields have this
// tag, Fill only checks the first one.
//
// # Guarantees
//
// Fill replaces zero keys and doesn't change any other keys. It generates all keys at once,
// in slice order. If Fill returns an error, it hasn't changed any rows.
//
// Fill inspects each struct type once and caches the result. It doesn't keep references to
// rows.
package sqlid
