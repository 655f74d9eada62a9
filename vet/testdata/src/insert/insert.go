package insert

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"
	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"xorm.io/xorm"
)

type User struct {
	ID   int64 `xorm:"pk autoincr 'id'" db:"id"`
	Name string
}

type Page struct {
	ID     int64 `xorm:"pk autoincr 'id'"`
	Parent *Page `xorm:"-"`
}

type Badge struct {
	ID     string `xorm:"not null pk autoincr BIGINT(20) id"`
	UserID int64
}

// Setting has no key that counts.
type Setting struct {
	Name string `xorm:"pk"`
}

const schema = `CREATE TABLE feeds (id bigserial primary key, title text);
CREATE TABLE settings (name text primary key, value text);`

func withXorm(ctx context.Context, e *xorm.Engine, given *User, many []*User) {
	e.Insert(given)              // want "User is inserted, and no Fill precedes"
	e.Insert(many)               // want "User is inserted, and no Fill precedes"
	e.Insert(User{Name: "a"})    // want "User is inserted by value"
	e.InsertOne(&User{Name: ""}) // want "User is inserted"
	e.Insert(&Badge{UserID: 1})  // want "Badge is inserted"
	e.Insert(&Setting{})         // fine
	e.Update(given)              // fine
	e.Insert(&User{ID: 7})       // fine

	e.Insert(&Page{Parent: &Page{ID: 7}}) // want "Page is inserted"
}

func filled(ctx context.Context, e *xorm.Engine, many []User) {
	user := &User{}
	_ = sqlid.Fill(ctx, user)
	e.Insert(user) // fine
	var byValue User
	_ = sqlid.Fill(ctx, &byValue)
	e.Insert(byValue) // fine
	_ = sqlid.Fill(ctx, many)
	e.Insert(many)        // fine
	e.InsertOne(&many[0]) // fine
	preset := User{}
	preset.ID = 8
	e.Insert(&preset) // fine
	literal := User{ID: 9}
	e.Insert(&literal) // fine
	late := User{}
	e.Insert(&late) // want "User is inserted"
	_ = sqlid.Fill(ctx, &late)
}

func withSqlx(ctx context.Context, db *sqlx.DB, user User) {
	db.NamedExec(`INSERT INTO users (id, name) VALUES (:id, :name)`, user)              // want "User is inserted by value"
	db.NamedExecContext(ctx, `INSERT INTO users (id, name) VALUES (:id, :name)`, &user) // want "User is inserted"
	db.NamedExec(`UPDATE users SET name = :name WHERE id = :id`, user)                  // fine
	_ = sqlid.Fill(ctx, &user)
	db.NamedExec(`INSERT INTO users (id, name) VALUES (:id, :name)`, user) // fine
}

func withSQL(ctx context.Context, db *sql.DB, user User) {
	db.ExecContext(ctx, `INSERT INTO users (name) VALUES ($1)`, user.Name)                            // want "INSERT INTO users leaves its key id to the database"
	db.ExecContext(ctx, `INSERT INTO users (id, name) VALUES ($1, $2)`, user.ID, user.Name)           // want "A row is inserted into users, and no Fill of user precedes"
	db.Exec("INSERT INTO feeds (title) VALUES (?)", "x")                                              // want "INSERT INTO feeds leaves its key"
	db.Exec("INSERT INTO feeds DEFAULT VALUES")                                                       // want "INSERT INTO feeds leaves its key"
	db.Exec("INSERT INTO settings (name) VALUES (?)", "x")                                            // fine
	db.Exec("INSERT INTO unknown (name) VALUES (?)", "x")                                             // fine
	db.Exec("SELECT id FROM users")                                                                   // fine
	db.Exec("INSERT INTO users (id, name) SELECT 1, name FROM old WHERE id = ?", user.ID)             // fine
	db.Exec("INSERT INTO users (id, name) SELECT id, name FROM old")                                  // fine
	db.QueryRow(`INSERT INTO "public"."users" ("name") VALUES ($1) RETURNING id`, "x").Scan(&user.ID) // want "INSERT INTO users leaves its key"
	_ = sqlid.Fill(ctx, &user)
	db.Exec(`INSERT INTO users (id, name) VALUES ($1, $2)`, user.ID, user.Name) // fine
}

func lastID(r sql.Result) (int64, error) {
	_, err := r.LastInsertId() // fine
	if err != nil {
		return 0, err
	}
	id, err := r.LastInsertId() // want "LastInsertId isn't the key"
	return id, err
}

func byReturn(r sql.Result) (int64, error) {
	return r.LastInsertId() // want "LastInsertId isn't the key"
}
