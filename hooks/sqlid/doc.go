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
// The key is the field tagged snowkey. Without such a tag it is the field ID or Id, if its
// type is one of package pk. If two fields look like the key, the struct is refused. Fields of embedded structs count as Go promotes them. The value
// of the tag is the name of the pool's generator, and empty for the pool's own:
//
//	ID     pk.ID                      // or pk.Of[User], pk.Text, pk.SortText, pk.String
//	ID     *pk.ID                     // nil, or a pointer to zero, is filled with a new pointer
//	ID     int64  `snowkey:""`        // or uint64, string, or a named type
//	Number pk.ID  `snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID  `snowkey:"-"`       // the caller sets it
//
// A string is filled with decimal text. A key tagged snowkey:"-" is not filled. If that
// field, or the first of several, is zero, the row is refused.
//
// # Guarantees
//
// After Fill every row has a key, or Fill has failed and no row has changed. A zero key is
// filled and any other key is kept. The keys of one call are drawn in one step, and ascend
// in the order of the slice. A declaration that cannot hold a key is a [FieldError]. Rows
// that cannot be filled are a [RowError], which wraps the generator's error if there is one.
//
// Fill inspects each type once and caches the result. It keeps no reference to rows.
package sqlid
