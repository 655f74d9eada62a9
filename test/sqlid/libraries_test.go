package sqlid_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"github.com/Masterminds/squirrel"
	_ "github.com/glebarez/go-sqlite"
	"github.com/jmoiron/sqlx"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A person may have a boss, who is another person.
type person struct {
	ID   pk.Of[person]  `db:"id"`
	Boss *pk.Of[person] `db:"boss"`
}

// people creates a table with three rows that have been filled in. The last two of
// these have a boss.
func people(t *testing.T, about dbtest.DB) (*sqlx.DB, []person) {
	t.Helper()
	db := sqlx.NewDb(about.Connect(t), about.Driver)
	dbtest.Must(db.ExecContext(t.Context(), "CREATE TABLE people (id BIGINT PRIMARY KEY, boss BIGINT)"))(t)
	rows := make([]person, 3)
	dbtest.NoError(t, sqlid.New(new(idtest.Source)).Fill(t.Context(), rows))
	rows[1].Boss, rows[2].Boss = &rows[0].ID, &rows[1].ID
	dbtest.Must(db.NamedExecContext(t.Context(), "INSERT INTO people (id, boss) VALUES (:id, :boss)", rows))(t)
	return db, rows
}

func TestSQLX(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		db, rows := people(t, about)
		var got []person
		if err := db.SelectContext(t.Context(), &got, "SELECT id, boss FROM people ORDER BY id"); err != nil || !reflect.DeepEqual(got, rows) {
			t.Errorf("the rows come back as %v (%v), want %v", got, err, rows)
		}
		query, args, err := sqlx.In("SELECT id FROM people WHERE id IN (?) ORDER BY id", []pk.Of[person]{rows[0].ID, rows[2].ID})
		dbtest.NoError(t, err)
		var ids []pk.Of[person]
		if err := db.SelectContext(t.Context(), &ids, db.Rebind(query), args...); err != nil || !reflect.DeepEqual(ids, []pk.Of[person]{rows[0].ID, rows[2].ID}) {
			t.Errorf("IN finds %v (%v)", ids, err)
		}

		bosses := "SELECT boss FROM people ORDER BY id"
		var nulls []sql.Null[pk.Of[person]]
		want := []sql.Null[pk.Of[person]]{{}, {V: rows[0].ID, Valid: true}, {V: rows[1].ID, Valid: true}}
		if err := db.SelectContext(t.Context(), &nulls, bosses); err != nil || !reflect.DeepEqual(nulls, want) {
			t.Errorf("the column comes back as %v (%v), want %v", nulls, err, want)
		}
		// sqlx creates a key for each row and passes the NULL to its Scan.
		var pointers []*pk.Of[person]
		if err := db.SelectContext(t.Context(), &pointers, bosses); err != nil || pointers[0] == nil || *pointers[0] != 0 {
			t.Errorf("NULL comes back as the pointer %v (%v): sqlx has changed, so should docs/sql.md", pointers[0], err)
		}
	})
}

func TestSquirrel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		db, rows := people(t, about)
		builder := squirrel.StatementBuilder
		if about.Dialect == "postgres" {
			builder = builder.PlaceholderFormat(squirrel.Dollar)
		}
		for _, c := range []struct {
			where squirrel.Sqlizer
			want  []pk.Of[person]
		}{
			{squirrel.Eq{"id": rows[1].ID}, []pk.Of[person]{rows[1].ID}},
			{squirrel.Eq{"id": &rows[1].ID}, []pk.Of[person]{rows[1].ID}},
			{squirrel.Eq{"id": []pk.Of[person]{rows[0].ID, rows[2].ID}}, []pk.Of[person]{rows[0].ID, rows[2].ID}},
			{squirrel.Gt{"id": rows[0].ID}, []pk.Of[person]{rows[1].ID, rows[2].ID}},
			{squirrel.Eq{"boss": sql.Null[pk.Of[person]]{}}, []pk.Of[person]{rows[0].ID}},
			{squirrel.Eq{"boss": nil}, []pk.Of[person]{rows[0].ID}},
		} {
			query, args, err := builder.Select("id").From("people").Where(c.where).OrderBy("id").ToSql()
			if err != nil {
				t.Errorf("%v: %v", c.where, err)
				continue
			}
			var got []pk.Of[person]
			if err := db.SelectContext(t.Context(), &got, query, args...); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v finds %v (%v), want %v", c.where, got, err, c.want)
			}
		}
	})
	// squirrel calls Value itself, which Go doesn't allow for a nil pointer to a key.
	defer func() {
		if recover() == nil {
			t.Error("squirrel takes a nil pointer: it has changed, so should docs/sql.md")
		}
	}()
	squirrel.Eq{"boss": (*pk.ID)(nil)}.ToSql()
}

// A CHECK must refuse rows that haven't been filled in.
func TestCheckConstraint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		db := about.Connect(t)
		for i, c := range []struct {
			column    string
			zero, key any
		}{
			{"id BIGINT PRIMARY KEY CHECK (id > 0)", pk.ID(0), pk.ID(7)},
			{"id VARCHAR(20) PRIMARY KEY CHECK (id <> '0')", pk.Text(0), pk.Text(7)},
			{"id CHAR(13) PRIMARY KEY CHECK (id <> '0000000000000')", pk.SortText(0), pk.SortText(7)},
		} {
			table := fmt.Sprintf("checked_%d", i)
			dbtest.Must(db.ExecContext(t.Context(), "CREATE TABLE "+table+" ("+c.column+")"))(t)
			insert := "INSERT INTO " + table + " (id) VALUES (?)"
			if about.Dialect == "postgres" {
				insert = "INSERT INTO " + table + " (id) VALUES ($1)"
			}
			if _, err := db.ExecContext(t.Context(), insert, c.zero); err == nil {
				t.Errorf("%s: a %T without a key was stored", c.column, c.zero)
			}
			if _, err := db.ExecContext(t.Context(), insert, c.key); err != nil {
				t.Errorf("%s: %v", c.column, err)
			}
		}
	})
}
