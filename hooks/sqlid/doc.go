// Package sqlid fills the keys of structs before you insert them. Use it with database/sql,
// sqlx, or any other library that writes structs but has no hooks.
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
// The key is the field tagged snowkey. If no field has this tag, it's the field ID or Id,
// provided that its type is one of package pk. Fields of embedded structs are considered
// too if Go promotes them. If two fields look like the key, Fill returns an error. The
// value of the tag names one of the pool's generators, or is empty for the pool itself:
//
//	ID     pk.ID                      // or pk.Of[User], pk.Text, pk.SortText, pk.String
//	ID     *pk.ID                     // nil, or a pointer to zero, is filled with a new pointer
//	ID     int64  `snowkey:""`        // or uint64, string, or a named type
//	Number pk.ID  `snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID  `snowkey:"-"`       // the caller sets it
//
// A string is filled with decimal text. Fill doesn't fill a key tagged snowkey:"-", and
// returns an error if it's zero. If several fields have this tag, it only checks the first
// one.
//
// # Guarantees
//
// After a call of Fill, every row has a key. If Fill returns an error, no row has changed.
// Zero keys are filled and all others are kept. Since all keys of a call are generated
// together, they ascend in the order of the slice.
//
// If something is wrong with the declaration of a struct, you get a [FieldError]. If it's
// the rows that can't be filled, you get a [RowError], and it wraps the generator's error
// if there is one.
//
// Fill inspects each type only once and caches the result. It doesn't keep references to
// your rows.
package sqlid
