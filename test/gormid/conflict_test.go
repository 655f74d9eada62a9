package gormid_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

type account struct {
	ID     pk.ID
	Email  *string `gorm:"size:40;unique"`
	Handle *string `gorm:"size:40;unique"`
	Name   string  `gorm:"size:40"`
	Visits int     `gorm:"default:1"`
}

var (
	byEmail = []clause.Column{{Name: "email"}}
	setName = clause.AssignmentColumns([]string{"name"})

	doNothing     = clause.OnConflict{DoNothing: true}
	upsertEmail   = clause.OnConflict{Columns: byEmail, DoUpdates: setName}
	upsertAll     = clause.OnConflict{Columns: byEmail, UpdateAll: true}
	returnKey     = clause.Returning{Columns: []clause.Column{{Name: "id"}}}
	returnAll     = clause.Returning{}
	never         = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 0"}}}
	upsertNothing = clause.OnConflict{Columns: byEmail, DoUpdates: setName, Where: never}
)

// In these tests, the table contains a single account, which is idA with the address
// "taken" and the handle "held". Rows are written as "name address handle", with "-"
// for NULL.
func accounts(rows ...string) []account {
	var as []account
	for _, r := range rows {
		w := strings.Fields(r)
		a := account{Name: w[0]}
		if w[1] != "-" {
			a.Email = &w[1]
		}
		if w[2] != "-" {
			a.Handle = &w[2]
		}
		as = append(as, a)
	}
	return as
}

// These are the states that we expect rows to be in.
const (
	inserted = "inserted" // its key is from the source, and it's in the table with that key
	skipped  = "skipped"  // it has no key and isn't in the table
	merged   = "merged"   // it has the key idA
)

type conflict struct {
	name    string
	only    string // the dialects to try this on; all if empty
	rows    []account
	clauses []clause.Expression
	create  func(db *gorm.DB, as []account) *gorm.DB // called with the clauses; creates a list if nil
	want    []string                                 // expected state of each row, unless
	fails   map[string]string                        // what the error must say, by dialect ("" for all others), without anything being changed
}

type clauses = []clause.Expression

// creates has the ways to create three rows for which GORM or the plugin has its own code.
var creates = map[string]func(db *gorm.DB, as []account) *gorm.DB{
	"list":       func(db *gorm.DB, as []account) *gorm.DB { return db.Create(&as) },
	"one by one": oneByOne,
	"pointers":   pointers,
	"batches":    func(db *gorm.DB, as []account) *gorm.DB { return db.CreateInBatches(&as, 2) },
	"Select":     func(db *gorm.DB, as []account) *gorm.DB { return db.Select("Name", "Email").Create(&as) },
	"prepared, in a transaction": func(db *gorm.DB, as []account) *gorm.DB {
		db.AddError(db.Session(&gorm.Session{PrepareStmt: true}).Transaction(func(tx *gorm.DB) error { return tx.Create(&as).Error }))
		return db
	},
}

func oneByOne(db *gorm.DB, as []account) *gorm.DB {
	for i := range as {
		db.AddError(db.Session(&gorm.Session{}).Create(&as[i]).Error)
	}
	return db
}

func pointers(db *gorm.DB, as []account) *gorm.DB {
	var list []*account
	for i := range as {
		list = append(list, &as[i])
	}
	return db.Create(&list)
}

// everyWay returns cases for each of creates, in which only the first row conflicts.
func everyWay() (all []conflict) {
	for way, create := range creates {
		for _, c := range []struct {
			name    string
			clauses clauses
			want    string
		}{
			{"DoNothing", clauses{doNothing}, skipped},
			{"DoNothing, RETURNING the key", clauses{doNothing, returnKey}, skipped},
			{"upsert", clauses{upsertEmail}, merged},
			{"upsert, RETURNING the key", clauses{upsertEmail, returnKey}, merged},
			{"upsert of all columns", clauses{upsertAll}, merged},
		} {
			all = append(all, conflict{name: c.name + ", " + way, rows: accounts("x taken -", "y new -", "z - -"),
				clauses: c.clauses, create: create, want: []string{c.want, inserted, inserted}})
		}
	}
	return all
}

// otherKey is what the error must say if a row violates a unique key that the clause doesn't
// name. MySQL would merge it nevertheless, and the other databases refuse it.
var otherKey = map[string]string{"mysql": "row 1 of gormid_test.account was merged", "": ""}

var conflicts = append(everyWay(), []conflict{
	{name: "DoNothing, several keys", rows: accounts("x new -", "y taken -", "z - -", "w - held"), clauses: clauses{doNothing},
		want: []string{inserted, skipped, inserted, skipped}},
	{name: "DoNothing, all rows left out", rows: accounts("x taken -", "y taken -"), clauses: clauses{doNothing}, want: []string{skipped, skipped}},
	{name: "DoNothing on one column", rows: accounts("x taken -", "y new -"),
		clauses: clauses{clause.OnConflict{Columns: byEmail, DoNothing: true}}, want: []string{skipped, inserted}},
	{name: "DoNothing, equal rows in one call", rows: accounts("x new -", "y new -"), clauses: clauses{doNothing}, want: []string{inserted, skipped}},
	{name: "DoNothing, RETURNING everything, pointers", rows: accounts("x taken -", "y new -"),
		clauses: clauses{doNothing, returnAll}, create: pointers, want: []string{skipped, inserted}},
	{name: "DoNothing, RETURNING everything, one row", rows: accounts("x taken -"),
		clauses: clauses{doNothing, returnAll}, create: oneByOne, want: []string{skipped}},
	{name: "INSERT IGNORE", only: "mysql", rows: accounts("x taken -", "y new -"),
		clauses: clauses{clause.Insert{Modifier: "IGNORE"}}, want: []string{skipped, inserted}},
	{name: "INSERT OR IGNORE", only: "sqlite", rows: accounts("x taken -", "y new -"),
		clauses: clauses{clause.Insert{Modifier: "OR IGNORE"}}, want: []string{skipped, inserted}},

	{name: "upsert, RETURNING everything", rows: accounts("x new -", "y taken -"), clauses: clauses{upsertEmail, returnAll}, want: []string{inserted, merged}},
	{name: "upsert, nothing to change", rows: accounts("old taken held"), clauses: clauses{upsertEmail}, want: []string{merged}},
	{name: "upsert of all columns, both keys", rows: accounts("x new -", "y taken held"), clauses: clauses{upsertAll}, want: []string{inserted, merged}},
	{name: "upsert, equal rows in one call", only: "sqlite,mysql", rows: accounts("x taken -", "y taken -"),
		clauses: clauses{upsertEmail}, want: []string{merged, merged}},
	// The first row isn't inserted, updated or returned. GORM would nevertheless assign the
	// returned keys to the first rows.
	{name: "upsert with a condition", only: "sqlite,postgres", rows: accounts("x taken -", "y new -", "z - -"),
		clauses: clauses{upsertNothing}, want: []string{merged, inserted, inserted}},
	{name: "upsert with a condition, RETURNING the key", only: "sqlite,postgres", rows: accounts("x taken -", "y new -", "z - -"),
		clauses: clauses{upsertNothing, returnKey}, want: []string{merged, inserted, inserted}},
	{name: "upsert on a constraint", only: "postgres", rows: accounts("x taken -", "y new -"),
		clauses: clauses{clause.OnConflict{OnConstraint: "uni_accounts_email", DoUpdates: setName}}, want: []string{merged, inserted}},
	{name: "upsert of all columns on a constraint", only: "postgres", rows: accounts("x taken -", "y new -"),
		clauses: clauses{clause.OnConflict{OnConstraint: "uni_accounts_email", UpdateAll: true}}, want: []string{merged, inserted}},
	{name: "upsert on a constraint unknown to GORM", only: "postgres", rows: accounts("x taken -", "y new -"),
		clauses: clauses{clause.OnConflict{OnConstraint: "other", DoUpdates: setName}},
		create: func(db *gorm.DB, as []account) *gorm.DB {
			session := db.Session(&gorm.Session{NewDB: true})
			session.Exec("ALTER TABLE accounts ADD CONSTRAINT other UNIQUE (email)")
			defer session.Exec("ALTER TABLE accounts DROP CONSTRAINT other")
			return db.Create(&as)
		},
		want: []string{merged, inserted}},

	{name: "upsert that meets another unique key", rows: accounts("x new -", "y fresh held"), clauses: clauses{upsertEmail}, fails: otherKey},
	{name: "UpdateAll on the key that meets another unique key", rows: accounts("x new -", "y taken -"),
		clauses: clauses{clause.OnConflict{UpdateAll: true}}, fails: otherKey},
	{name: "Save of slice that meets another unique key", rows: accounts("x new -", "y taken -"),
		create: func(db *gorm.DB, as []account) *gorm.DB { return db.Save(&as) }, fails: otherKey},
	{name: "upsert of a NULL that meets another unique key", rows: accounts("x - -", "y - held"), clauses: clauses{upsertEmail}, fails: otherKey},
	{name: "upsert on a column that is not unique", rows: accounts("same - -", "same taken -"),
		clauses: clauses{clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: setName}}, fails: otherKey},
	{name: "upsert on the key, ignoring others", only: "sqlite", rows: accounts("x new -", "y taken -"),
		clauses: clauses{clause.Insert{Modifier: "OR IGNORE"}, clause.OnConflict{UpdateAll: true}}, fails: map[string]string{"": otherKey["mysql"]}},
	{name: "no clause", rows: accounts("x new -", "y taken -"), fails: map[string]string{"": ""}},
}...)

// TestConflicts: a row that was skipped must have no key, and a row that was merged
// must have the key of the row in the table. On MySQL, a connection can count rows in
// two ways, which must not make a difference.
func TestConflicts(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		testConflicts(t, about)
		if about.Dialect == "mysql" {
			about = about.With("clientFoundRows=true")
			t.Run("clientFoundRows", func(t *testing.T) { testConflicts(t, about) })
		}
	})
}

func testConflicts(t *testing.T, about dbtest.DB) {
	e := open(t, about, &account{})
	defer e.Exec("DROP TABLE accounts")
	for _, c := range conflicts {
		if c.only != "" && !strings.Contains(c.only, about.Dialect) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			e.wipe(t, "accounts")
			old := accounts("old taken held")[0]
			old.ID = idA
			must(t, e.Create(&old))
			before := e.table(t, "SELECT id, name, email, handle FROM accounts")
			first := pk.ID(e.source.Last())

			as := slices.Clone(c.rows)
			if c.create == nil {
				c.create = creates["list"]
			}
			tx := c.create(e.WithContext(t.Context()).Clauses(c.clauses...), as)
			if c.fails != nil {
				says, ok := c.fails[about.Dialect]
				if !ok {
					says = c.fails[""]
				}
				if tx.Error == nil || !strings.Contains(tx.Error.Error(), says) {
					t.Errorf("got %v, want an error with %q", tx.Error, says)
				}
				if e, ok := errors.AsType[*gormid.RowError](tx.Error); ok && as[e.Row].ID != 0 {
					t.Errorf("row %d keeps a key that nothing has: %d", e.Row, as[e.Row].ID)
				}
				e.wantTable(t, "SELECT id, name, email, handle FROM accounts", before...)
				return
			}
			must(t, tx)
			var want []string // the names of the rows that were inserted
			for i, a := range as {
				got := merged
				switch {
				case a.ID > first:
					got = inserted
					want = append(want, line(a.ID, c.rows[i].Name))
				case a.ID == 0:
					got = skipped
				case a.ID != idA:
					t.Errorf("row %d has the key %d of no row", i, a.ID)
				}
				if got != c.want[i] {
					t.Errorf("row %d is %s according to its key %d, want %s", i, got, a.ID, c.want[i])
				}
			}
			e.wantTable(t, "SELECT id, name FROM accounts WHERE id <> 9007199254740993 ORDER BY id", want...)
		})
	}
}

// TestConflictingMaps: if the row of a map was skipped, the map must have no entry for
// the key.
func TestConflictingMaps(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about, &account{})
		use(t, e.DB, gormid.Config{Source: e.source, Models: []any{&account{}}})
		must(t, e.Create(&account{ID: idA, Name: "old", Email: new("taken")}))
		taken := func() map[string]any { return map[string]any{"name": "x", "email": "taken"} }

		m, ms := taken(), []map[string]any{taken(), {"name": "y"}}
		must(t, e.Model(&account{}).Clauses(doNothing).Create(m))
		must(t, e.Model(&account{}).Clauses(doNothing).Create(&ms))
		if len(m) != 2 || len(ms[0]) != 2 {
			t.Errorf("rows were left out, but have keys: %v and %v", m, ms[0])
		}
		e.wantTable(t, "SELECT name, id FROM accounts ORDER BY id", line("old", int64(idA)), line("y", ms[1]["id"]))

		twice := map[string]any{"name": "t"}
		must(t, e.Model(&account{}).Clauses(doNothing).Create([]map[string]any{twice, twice}))
		e.wantTable(t, "SELECT id FROM accounts WHERE name = 't'", line(twice["id"]))
		must(t, e.Where("name = 't'").Delete(&account{}))

		// Without a model, the SQL that GORM generates for DoNothing isn't valid on
		// MySQL.
		for _, tx := range []*gorm.DB{e.Model(&account{}), e.Table("accounts")} {
			ms := []map[string]any{{"name": "z"}, taken()}
			must(t, tx.Clauses(upsertEmail).Create(ms))
			if ms[1]["id"] != pk.ID(idA) {
				t.Errorf("the row was merged into %d and has the key %v", int64(idA), ms[1]["id"])
			}
			e.wantTable(t, "SELECT name, id FROM accounts WHERE name IN ('x', 'z') ORDER BY id", line("x", int64(idA)), line("z", ms[0]["id"]))
			must(t, e.Where("id <> ?", int64(idA)).Delete(&account{}))
		}
	})
}

// TestReturnedRows: GORM replaces the rows of a slice with those returned by RETURNING
// *, all of which must have a key.
func TestReturnedRows(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		if about.Dialect == "mysql" && !about.MariaDB {
			return // it has no RETURNING, and GORM ignores the clause
		}
		e := open(t, about, &account{})
		must(t, e.Create(&account{ID: idA, Name: "old", Email: new("taken")}))
		as := accounts("x taken -", "y new -")
		must(t, e.Clauses(doNothing, returnAll).Create(&as))
		if about.MariaDB { // it also returns the row that was there before
			as = slices.DeleteFunc(as, func(a account) bool { return a.ID == idA })
		}
		if len(as) != 1 {
			t.Fatalf("GORM has kept %v", as)
		}
		e.wantTable(t, "SELECT name, id FROM accounts ORDER BY id", line("old", int64(idA)), line("y", as[0].ID))
	})
}

// TestUpsertWithTwoUniqueKeys: MySQL changes the row that it meets first in any unique key,
// whichever columns the clause names. The key in memory must not be that of another row.
func TestUpsertWithTwoUniqueKeys(t *testing.T) {
	type player struct {
		ID    pk.ID
		Email string `gorm:"size:40"`
		Name  string `gorm:"size:40"`
		Nick  string `gorm:"size:40"`
		Score int
	}
	each(t, []any{&player{}}, func(t *testing.T, e *env) {
		// MySQL tries the indexes in the order in which they were created, and GORM creates them
		// in any order.
		nick := "nick"
		if e.about.Dialect == "mysql" {
			nick = "nick(3)"
		}
		for _, column := range []string{"email", "name", nick} {
			must(t, e.Exec("CREATE UNIQUE INDEX idx_players_"+column[:4]+" ON players ("+column+")"))
		}
		ann, bob := player{Email: "a@x", Name: "ann", Nick: "ann"}, player{Email: "b@x", Name: "bob", Nick: "bob"}
		must(t, e.Create([]*player{&ann, &bob}))
		byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"score"})}
		const rows = "SELECT id, name, score FROM players WHERE name <> 'cyd' ORDER BY id"
		for score := range 2 {
			p := player{Email: "a@x", Name: "bob", Nick: "new", Score: score + 1}
			var call any = &p
			if score == 1 {
				call = []*player{&p, {Email: "c@x", Name: "cyd", Nick: "cyd"}}
			}
			err := e.Clauses(byName).Create(call).Error
			if e.about.Dialect == "mysql" {
				idtest.WantRowError(t, err, 0, "was merged into a row whose key is not known")
				e.wantTable(t, rows, line(ann.ID, "ann", 0), line(bob.ID, "bob", 0))
				continue
			}
			if err != nil || p.ID != bob.ID {
				t.Errorf("%d is the key of %d: %v", p.ID, bob.ID, err)
			}
			e.wantTable(t, rows, line(ann.ID, "ann", 0), line(bob.ID, "bob", p.Score))
		}
		p := player{Email: "b@x", Name: "bob", Nick: "new", Score: 8}
		err := e.Clauses(byName).Create(&p).Error
		if e.about.Dialect == "mysql" && !e.about.MariaDB { // which doesn't return the key, and nicks are compared in part
			idtest.WantRowError(t, err, 0, "because its values in the unique key idx_players_nick are not")
			return
		}
		if err != nil || p.ID != bob.ID {
			t.Errorf("%d is the key of %d: %v", p.ID, bob.ID, err)
		}
		e.wantTable(t, rows, line(ann.ID, "ann", 0), line(bob.ID, "bob", 8))
	})
}

// TestYoungerRow: on MySQL, a row can be merged into one that was inserted after the
// transaction began, and that a plain SELECT in the transaction can't see.
func TestYoungerRow(t *testing.T) {
	about := dbtest.MySQL(t)
	if about.MariaDB {
		about = about.With("innodb_snapshot_isolation=OFF") // from 11.8 on, it is on, and the server refuses the row
	}
	e := open(t, about, &account{})
	dbtest.NoError(t, e.Transaction(func(tx *gorm.DB) error {
		must(t, tx.Find(&[]account{})) // this is when the transaction takes its snapshot
		must(t, e.Create(&account{ID: idA, Name: "old", Email: new("taken")}))
		as := accounts("old taken -", "y new -")
		must(t, tx.Clauses(upsertEmail).Create(&as))
		if as[0].ID != idA {
			t.Errorf("the row was merged into %d and has the key %d", int64(idA), as[0].ID)
		}
		return nil
	}))
}

// A reading is unique in a value that the database doesn't store in the form in which it is
// sent.
type reading[V any] struct {
	ID   pk.ID
	At   V
	Name string
}

func (reading[V]) TableName() string { return "readings" }

// An upsert must find the row by the stored value of its unique column, for a single
// row as well as for several.
func TestUpsertOfStoredValues(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123_456_000, time.UTC)
	day := func(n int) time.Time { return at.AddDate(0, 0, n) }
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		milliseconds := map[string]string{"postgres": "timestamptz(3)", "mysql": "datetime(3)", "sqlite": "datetime"}[about.Dialect]
		t.Run("date", func(t *testing.T) { testStored(t, about, "date", day) })
		t.Run("milliseconds", func(t *testing.T) { testStored(t, about, milliseconds, day) })
		t.Run("decimal", func(t *testing.T) {
			testStored(t, about, "decimal(10,2)", func(n int) float64 { return 1.005 + float64(n) })
		})
		t.Run("float", func(t *testing.T) { testStored(t, about, "float", func(n int) float32 { return 0.1 + float32(n) }) })
		t.Run("char", func(t *testing.T) { testStored(t, about, "char(8)", func(n int) string { return fmt.Sprint("a", n) }) })
	})
}

func testStored[V any](t *testing.T, about dbtest.DB, column string, value func(n int) V) {
	e := open(t, about)
	dbtest.Exec(t, e.conn.DB, "CREATE TABLE readings (id BIGINT PRIMARY KEY, at "+column+" UNIQUE, name VARCHAR(40))")
	defer e.Exec("DROP TABLE readings")
	row := func(n int) reading[V] { return reading[V]{At: value(n), Name: fmt.Sprint(n)} }
	upsert := e.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "at"}}, DoUpdates: setName}).Session(&gorm.Session{})
	first, one, several := []reading[V]{row(0), row(1)}, row(1), []reading[V]{row(2), row(1), row(0)}
	for _, rows := range []any{&first, &one, &several} {
		must(t, upsert.Create(rows))
	}
	a, b, c := first[0].ID, first[1].ID, several[0].ID
	if one.ID != b || several[1].ID != b || several[2].ID != a {
		t.Errorf("one row has the key %d, several rows have %+v, and the table has %d and %d", one.ID, several, a, b)
	}
	e.wantTable(t, "SELECT id, name FROM readings ORDER BY id", line(a, 0), line(b, 1), line(c, 2))
}

// Here the database computes the unique column, or the index contains an expression. If
// the INSERT returns keys, it must still be possible to find a single row.
func TestUpsertOfComputedValues(t *testing.T) {
	type mail struct {
		ID    pk.ID
		Email string `gorm:"size:40"`
		Lower string `gorm:"->;type:varchar(40) GENERATED ALWAYS AS (lower(email)) STORED;unique"`
		Name  string `gorm:"size:40"`
	}
	each(t, []any{&mail{}}, func(t *testing.T, e *env) {
		ada := mail{Email: "Ada@example.org", Name: "Ada"}
		must(t, e.Create(&ada))
		on := map[string]clause.OnConflict{"generated column": {Columns: []clause.Column{{Name: "lower"}}}}
		if e.about.Dialect == "postgres" {
			must(t, e.Exec("ALTER TABLE mails ADD CONSTRAINT mails_name UNIQUE (name)"))
			must(t, e.Exec("CREATE UNIQUE INDEX ON mails (upper(email))"))
			on["constraint"] = clause.OnConflict{OnConstraint: "mails_name"}
			on["expression"] = clause.OnConflict{Columns: []clause.Column{{Name: "upper(email)", Raw: true}}}
		}
		for name, on := range on {
			t.Run(name, func(t *testing.T) {
				row := mail{Email: "ADA@example.org", Name: "Ada"}
				if name == "constraint" {
					row.Email = "other@example.org"
				}
				on.DoUpdates = setName
				err := e.Clauses(on).Create(&row).Error
				if e.about.Dialect == "mysql" && !e.about.MariaDB {
					idtest.WantRowError(t, err, 0, "was merged into a row whose key is not known")
				} else if err != nil || row.ID != ada.ID {
					t.Errorf("the key is %d, and in the table %d: %v", row.ID, ada.ID, err)
				}
			})
		}
		e.wantTable(t, "SELECT id, name FROM mails", line(ada.ID, "Ada"))
	})
}

// A CHAR column pads the key with spaces, which must not end up in memory.
func TestPaddedKey(t *testing.T) {
	type padded struct {
		ID    string `gorm:"primaryKey;type:char(20);snowkey"`
		Email string `gorm:"size:40;unique"`
		Name  string `gorm:"size:40"`
	}
	each(t, []any{&padded{}}, func(t *testing.T, e *env) {
		first := padded{Email: "a", Name: "1"}
		must(t, e.Create(&first))
		some := []padded{{Email: "a"}, {Email: "b"}}
		must(t, e.Clauses(doNothing).Create(&some))
		if some[0].ID != "" || len(some[1].ID) != 19 {
			t.Errorf("left out and inserted: %+v", some)
		}
		upsert := clause.OnConflict{Columns: byEmail, DoUpdates: setName}
		one, more := padded{Email: "a"}, []padded{{Email: "b"}, {Email: "c"}}
		must(t, e.Clauses(upsert).Create(&one))
		must(t, e.Clauses(upsert).Create(&more))
		if one.ID != first.ID || more[0].ID != some[1].ID || len(more[1].ID) != 19 {
			t.Errorf("merged into %+v and %+v: %+v, %+v", first, some[1], one, more)
		}
	})
}
