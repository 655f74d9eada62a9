// Package sqlid sets the keys of structs before they're inserted. It's intended for use with
// database/sql, sqlx, and other libraries that write structs but don't have hooks.
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
// Keys come from [idgen.Default]. A [Filler] can be used to get them from another source.
//
// # Which field is the key
//
// Fill looks for a field with the snowkey tag before falling back to a field named ID or Id
// whose type is from package pk. Promoted fields of embedded structs are considered too.
// It's an error for a struct to have two candidates. The tag's value is the name of one of
// the pool's generators, or empty for the pool itself:
//
//	ID     pk.ID                      // or pk.Of[User], pk.Text, pk.SortText, pk.String
//	ID     *pk.ID                     // nil, or a pointer to zero, is filled with a new pointer
//	ID     int64  `snowkey:""`        // or uint64, string, or a named type
//	Number pk.ID  `snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID  `snowkey:"-"`       // the caller sets it
//
// String fields get decimal text. A key tagged snowkey:"-" is up to the caller. Fill will
// return an error if it's still zero (only the first one is checked if several fields have
// this tag).
//
// # Guarantees
//
// Either all rows have a key after Fill returns, or it returns an error and no row has
// changed. Only zero keys are filled. They're generated together in slice order.
//
// The error is a [FieldError] if there's a problem with how the struct is declared. If it's
// the rows that couldn't be filled, it's a [RowError] wrapping any error from the generator.
//
// Struct types are inspected once and then cached. Fill doesn't hold on to any rows.
package sqlid
