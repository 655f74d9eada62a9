// Package sqlid sets the keys of your structs before you insert them. It's meant for
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
// Keys come from [idgen.Default]. Use a [Filler] if you have another source.
//
// # Which field is the key
//
// Fill looks for a field with the snowkey tag, and falls back to a field named ID or Id as
// long as its type is from package pk. It also considers promoted fields of embedded structs.
// Having two candidates is an error. The tag's value picks one of the pool's generators;
// leave it empty to use the pool itself:
//
//	ID     pk.ID                      // or pk.Of[User], pk.Text, pk.SortText, pk.String
//	ID     *pk.ID                     // nil, or a pointer to zero, is filled with a new pointer
//	ID     int64  `snowkey:""`        // or uint64, string, or a named type
//	Number pk.ID  `snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID  `snowkey:"-"`       // the caller sets it
//
// String fields get decimal text. Fill never sets a key tagged snowkey:"-", but will return
// an error if you've left it zero. (Only the first field with this tag is checked.)
//
// # Guarantees
//
// Either all rows have a key after Fill returns, or you get an error and no row has changed.
// Keys you've set are kept. The others are generated together, in slice order.
//
// A [FieldError] means there's a problem with how the struct is declared. If it's the rows
// that couldn't be filled, the error is a [RowError], wrapping the generator's error if there
// was one.
//
// Struct types are inspected once and then cached. Fill doesn't hold on to your rows.
package sqlid
