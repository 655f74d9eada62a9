package gormid_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// What the hooks of a hooked model do depends on its name.
type hooked struct {
	ID   pk.ID
	Name string `gorm:"size:40;unique"`
	Seen pk.ID  // the key that BeforeCreate saw
	Left pk.ID  `gorm:"-"` // the key that AfterCreate saw
}

func (h *hooked) BeforeCreate(tx *gorm.DB) error {
	h.Seen = h.ID
	switch h.Name {
	case "sets":
		h.ID = idB
	case "sets the column":
		tx.Statement.SetColumn("ID", pk.ID(idB))
	case "ignores conflicts":
		tx.Statement.AddClause(clause.OnConflict{DoNothing: true})
	case "omits":
		tx.Statement.Omits = append(tx.Statement.Omits, "id")
	case "clears":
		h.ID = 0
	case "replaces the context":
		tx.Statement.Context = context.Background()
	case "copies": // such as for a history
		other := hooked{Name: "copy"}
		return tx.Session(&gorm.Session{NewDB: true}).Create(&other).Error
	case "fails":
		return errSource
	}
	return nil
}

func (h *hooked) AfterCreate(*gorm.DB) error { h.Left = h.ID; return nil }

// TestHooks: a model's hooks run after its key has been filled in. They must be able to
// see the key, and to set another.
func TestHooks(t *testing.T) {
	each(t, []any{&hooked{}}, func(t *testing.T, e *env) {
		for _, c := range []struct {
			name string
			set  bool
		}{{"sees", false}, {"sets", true}, {"sets the column", true}, {"ignores conflicts", false}, {"replaces the context", false}} {
			e.wipe(t, "hookeds")
			h := hooked{Name: c.name}
			must(t, e.Create(&h))
			if h.Seen == 0 || h.Left != h.ID || (h.ID == idB) != c.set || (h.ID == h.Seen) == c.set {
				t.Errorf("%s: %+v", c.name, h)
			}
			e.wantTable(t, "SELECT id, seen, name FROM hookeds", line(h.ID, h.Seen, c.name))
		}

		// In a list, this applies to each row separately.
		e.wipe(t, "hookeds")
		hs := []hooked{{Name: "sees"}, {Name: "sets"}, {Name: "b", ID: idA}}
		must(t, e.Create(&hs))
		e.wantTable(t, "SELECT name, id FROM hookeds ORDER BY name", line("b", int64(idA)), line("sees", hs[0].Seen), line("sets", int64(idB)))

		// The row already exists, so it gets skipped. A key that was filled in must be
		// cleared, whereas one from a hook stays.
		for _, c := range []struct {
			name string
			want pk.ID
		}{{"ignores conflicts", 0}, {"sees", 0}, {"replaces the context", 0}, {"sets", idB}} {
			e.wipe(t, "hookeds")
			must(t, e.Session(&gorm.Session{SkipHooks: true}).Create(&hooked{ID: idA, Name: c.name}))
			h := hooked{Name: c.name}
			tx := e.DB
			if c.name != "ignores conflicts" {
				tx = tx.Clauses(clause.OnConflict{DoNothing: true})
			}
			must(t, tx.Create(&h))
			if h.ID != c.want {
				t.Errorf("%s: the row was left out and has the key %d, want %d", c.name, h.ID, c.want)
			}
			e.wantTable(t, "SELECT id FROM hookeds", line(int64(idA)))
		}

		e.wipe(t, "hookeds")
		idtest.WantRowError(t, e.Create(&hooked{Name: "omits"}).Error, -1, "without its key")
		if err := e.Create(&hooked{Name: "fails"}).Error; !errors.Is(err, errSource) {
			t.Errorf("got %v", err)
		}
		e.wantTable(t, "SELECT id FROM hookeds")

		must(t, e.Create(&hooked{Name: "copies"}))
		e.wantTable(t, "SELECT name FROM hookeds ORDER BY name", "copies", "copy")
	})
}

// TestCallbackOrder: keys must be filled in before the transaction begins. This applies
// no matter which other callbacks there are, and even without default transactions.
func TestCallbackOrder(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, skip := range []bool{false, true} {
			e := bare(t, about)
			e.Config.SkipDefaultTransaction = skip
			var log []string
			note := func(db *gorm.DB) { log = append(log, line(db.Statement.Dest.(*user).ID != 0, e.conn.begun.Load())) }
			nothing := func(*gorm.DB) {}
			create := e.Callback().Create()
			create.Before("gorm:create").Register("test:early", note)
			use(t, e.DB, gormid.Config{Source: e.source})
			create.Before("gorm:begin_transaction").Register("test:begin", nothing)
			create.Before("*").Register("test:first", nothing)
			create.After("*").Register("test:last", nothing)
			create.Before("gorm:create").Register("test:late", note)
			migrate(t, e.DB, &user{})
			e.conn.begun.Store(0)

			u := user{Name: "a"}
			must(t, e.Create(&u))
			begun := map[bool]int{true: 0, false: 1}[skip]
			if want := line(true, begun); !slices.Equal(log, []string{want, want}) {
				t.Errorf("callbacks saw %q, want %q twice", log, want)
			}
			e.source.Err = errSource
			if err := e.Create(&user{Name: "b"}).Error; !errors.Is(err, errSource) {
				t.Errorf("got %v", err)
			}
			e.wantTable(t, "SELECT id FROM users", line(u.ID))
			if int(e.conn.begun.Load()) != begun {
				t.Errorf("%d transactions were begun, want %d", e.conn.begun.Load(), begun)
			}
			e.Exec("DROP TABLE users")
		}
	})
}

// TestSelectsRestored: when the plugin is done, the statement must have the caller's columns
// again.
func TestSelectsRestored(t *testing.T) {
	e := open(t, dbtest.SQLite(t), &user{})
	selected := make([]string, 1, 9)
	selected[0] = "Name"
	tx := e.Select(selected).Create(&[]user{{Name: "a"}, {Name: "b"}})
	must(t, tx)
	if !slices.Equal(tx.Statement.Selects, selected) || selected[:2][1] != "" {
		t.Errorf("the selected columns are %q, and the caller's %q", tx.Statement.Selects, selected[:2])
	}
}

// TestDryRun: callers may run the SQL of a dry run themselves, so both the SQL and the
// rows must have keys. Nothing may be sent to the database.
func TestDryRun(t *testing.T) {
	each(t, []any{&user{}}, func(t *testing.T, e *env) {
		before := e.conn.statements.Load()
		us := []user{{Name: "a"}, {Name: "b", ID: idA}}
		tx := e.Session(&gorm.Session{DryRun: true, SkipDefaultTransaction: true}).Clauses(clause.OnConflict{DoNothing: true}).Select("Name").Create(&us)
		must(t, tx)
		stmt := tx.Statement
		if got := e.Dialector.Explain(stmt.SQL.String(), stmt.Vars...); us[0].ID == 0 || !strings.Contains(got, us[0].ID.String()) || !strings.Contains(got, line(int64(idA))) {
			t.Errorf("the keys %v are not in %s", us, got)
		}
		u := user{Name: "c"}
		if got := e.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&u) }); u.ID == 0 || !strings.Contains(got, u.ID.String()) {
			t.Errorf("the key %d is not in %s", u.ID, got)
		}
		if n := e.conn.statements.Load() - before; n != 0 {
			t.Errorf("%d statements were sent", n)
		}
		e.wantTable(t, "SELECT id FROM users")
	})
}

// If there are no keys, GORM's ToSQL drops the error, so it must be in the log instead.
func TestToSQLWithoutKeys(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	log := &warnings{Interface: logger.Discard}
	e.DB.Config.Logger = log
	use(t, e.DB, gormid.Config{}) // and there is no default pool
	got := e.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&user{}) })
	if got != "" || len(log.text) != 1 || !strings.Contains(log.text[0], "got no keys for 1 row: ") {
		t.Errorf("got %q, and %q in the log", got, log.text)
	}
}

// TestStatements: keys must only be read back if the INSERT may have skipped a row, and
// then over the connection of the INSERT.
func TestStatements(t *testing.T) {
	each(t, []any{&account{}}, func(t *testing.T, e *env) {
		// This is how a plugin like dbresolver sends GORM's queries to a replica.
		e.Callback().Query().Before("*").Register("test:replica", func(db *gorm.DB) {
			db.AddError(errors.New("the replica does not have the row yet"))
		})
		uncertain := int64(0) // not 0 if we can't tell what the INSERT did
		if e.about.Dialect == "mysql" {
			uncertain = 1
		}
		upsert, merged := int64(2), int64(3)
		switch e.about.Dialect {
		case "postgres": // the INSERT itself returns the keys
			upsert, merged = 1, 1
		case "mysql": // the first merge has to read the unique keys
			merged = 4
		}
		for _, c := range []struct {
			name   string
			clause clause.Expression
			rows   []account
			want   int64
		}{
			{"plain", nil, accounts("a - -", "b - -"), 1},
			{"DoNothing", doNothing, accounts("a - -", "b x -"), 1 + uncertain},
			{"DoNothing, left out", doNothing, accounts("a - -", "b x -"), 2},
			{"UpdateAll on the key", clause.OnConflict{UpdateAll: true}, accounts("a - -", "b y -"), 1 + uncertain},
			{"upsert", upsertEmail, accounts("a z1 -", "b z2 -"), upsert},
			{"upsert, merged", upsertEmail, accounts("a z1 -", "b z2 -"), merged},
			{"upsert, merged again", upsertEmail, accounts("a z1 -", "b z2 -"), min(merged, 3)},
			{"upsert of given keys", upsertEmail, []account{{ID: idA, Name: "a"}}, 1},
		} {
			tx := e.DB
			if c.clause != nil {
				tx = tx.Clauses(c.clause)
			}
			for i := range c.rows {
				c.rows[i].Visits = 2 // otherwise, GORM asks for the default
			}
			before := e.conn.statements.Load()
			must(t, tx.Create(&c.rows))
			if n := e.conn.statements.Load() - before; n != c.want {
				t.Errorf("%s: %d statements, want %d", c.name, n, c.want)
			}
		}
	})
}

// TestUnneeded: if no row is created, no id may be drawn.
func TestUnneeded(t *testing.T) {
	each(t, []any{&user{}}, func(t *testing.T, e *env) {
		u := user{Name: "a"}
		must(t, e.Create(&u))
		calls := e.source.Calls()

		found := user{}
		must(t, e.Where(user{Name: "a"}).FirstOrCreate(&found))
		must(t, e.Where(user{Name: "a"}).Assign(user{Age: 1}).FirstOrCreate(&found))
		u.Age = 2
		must(t, e.Save(&u))
		must(t, e.Save(&[]user{u}))
		must(t, e.Model(&u).Updates(user{Age: 3}))
		for _, none := range []any{&[]user{}, []map[string]any{}, (*user)(nil)} {
			if err := e.Model(&user{}).Create(none).Error; !errors.Is(err, gorm.ErrEmptySlice) && !errors.Is(err, gorm.ErrInvalidValue) {
				t.Errorf("%T: %v", none, err)
			}
		}
		if e.source.Calls() != calls || found.ID != u.ID {
			t.Errorf("keys were drawn %d times, and %d was found for %d", e.source.Calls()-calls, found.ID, u.ID)
		}
		e.wantTable(t, "SELECT id, age FROM users", line(u.ID, 3))
	})
}

// TestOthers: models that haven't opted in must not be changed.
func TestOthers(t *testing.T) {
	type bare int64
	type untagged struct {
		ID   bare `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	type text struct {
		ID   string `gorm:"size:20"`
		Name string
	}
	type plain struct {
		ID     uint
		UserID *pk.ID
		User   *user
		Name   string
	}
	type owned struct {
		ID      pk.ID
		Name    string `gorm:"size:40;unique"`
		PlainID uint
		Plain   plain
	}
	each(t, []any{&plain{}, &user{}, &untagged{}, &text{}, &owned{}}, func(t *testing.T, e *env) {
		must(t, e.Create(&untagged{Name: "a"}))
		must(t, e.Create(&text{Name: "a"}))
		e.wantTable(t, "SELECT id FROM untaggeds", "0")
		e.wantTable(t, "SELECT id FROM texts", "")
		p := plain{Name: "a", User: &user{Name: "u"}}
		must(t, e.Create(&p))
		must(t, e.Create([]plain{{Name: "b"}, {Name: "c"}}))
		must(t, e.Table("plains").Create(map[string]any{"name": "d"}))
		e.wantTable(t, "SELECT id, user_id, name FROM plains ORDER BY id",
			line(1, p.User.ID, "a"), line(2, "NULL", "b"), line(3, "NULL", "c"), line(4, "NULL", "d"))
		if e.source.Calls() != 1 {
			t.Errorf("keys were drawn %d times, want once", e.source.Calls())
		}

		// The keys of a row must be read back even if the plugin doesn't fill its owner's.
		rows := []owned{{Name: "a", Plain: plain{Name: "x"}}, {Name: "a", Plain: plain{Name: "y"}}}
		must(t, e.Clauses(doNothing).Create(&rows))
		if rows[1].ID != 0 {
			t.Errorf("the second row was left out and has the key %d", rows[1].ID)
		}
		e.wantTable(t, "SELECT id, plain_id FROM owneds", line(rows[0].ID, rows[0].Plain.ID))
	})
}

// TestQualifiedTable: keys must be read back from the same table that the INSERT used.
func TestQualifiedTable(t *testing.T) {
	each(t, []any{&account{}}, func(t *testing.T, e *env) {
		schema := "main"
		if e.about.Dialect != "sqlite" {
			schema = e.table(t, map[string]string{"postgres": "SELECT current_schema()", "mysql": "SELECT DATABASE()"}[e.about.Dialect])[0]
		}
		must(t, e.Exec("CREATE TABLE copies AS SELECT * FROM accounts"))
		must(t, e.Exec("CREATE UNIQUE INDEX copies_email ON copies (email)"))
		for _, tx := range []*gorm.DB{
			e.Table("copies"),
			e.Table(schema + ".copies"),
			e.Clauses(clause.Insert{Table: clause.Table{Name: "copies"}}),
		} {
			e.wipe(t, "copies")
			as := accounts("a x -", "b x -")
			must(t, tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&as))
			if as[0].ID == 0 || as[1].ID != 0 {
				t.Errorf("keys are %d and %d", as[0].ID, as[1].ID)
			}
			e.wantTable(t, "SELECT id, name FROM copies", line(as[0].ID, "a"))
		}
		e.wantTable(t, "SELECT id FROM accounts")
	})
}

// TestTableSpelling: without a model, GORM sends the names in a map exactly as they
// are. Some databases ignore case, so two different names may refer to the same column.
func TestTableSpelling(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about, &user{})
		use(t, e.DB, gormid.Config{Source: e.source, Models: []any{&user{}}})
		for _, name := range []string{"ID", "Id"} {
			for _, id := range []any{int64(idA), 0} {
				m := map[string]any{name: id, "name": "a"}
				idtest.WantRowError(t, e.Table("users").Create(m).Error, 0, "names its key "+name)
				idtest.WantRowError(t, e.Table("users").Select("name").Create(&m).Error, 0, "names its key "+name)
			}
		}
		e.wantTable(t, "SELECT id FROM users")
	})
}

// TestPartialIndex: if several rows have the same values, a row must be merged into the
// one that is in the index.
func TestPartialIndex(t *testing.T) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			about := reuse.Open(t, dialect)
			e := open(t, about, &user{})
			must(t, e.Exec("CREATE UNIQUE INDEX live ON users (name) WHERE age = 0"))
			must(t, e.Create(&[]user{{ID: idB, Name: "a", Age: 1}, {ID: idA, Name: "a"}, {ID: 9, Name: "a", Age: 2}}))
			u := user{Name: "a"}
			must(t, e.Clauses(clause.OnConflict{
				Columns:     []clause.Column{{Name: "name"}},
				TargetWhere: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "age = 0"}}},
				DoUpdates:   setName,
			}).Create(&u))
			if u.ID != idA {
				t.Errorf("the row was merged into %d and has the key %d", int64(idA), u.ID)
			}
		})
	}
}

// TestConcurrent: the first rows of models may be created by many goroutines at once.
func TestConcurrent(t *testing.T) {
	e := openAuthors(t, dbtest.SQLite(t))
	e.conn.SetMaxOpenConns(1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				a := family("a")
				a.Friends = nil
				if err := e.Clauses(clause.OnConflict{DoNothing: true}).Create(&a).Error; err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	e.wantTable(t, "SELECT count(*), count(DISTINCT id) FROM authors", "40 40")
	e.wantTable(t, "SELECT count(*), count(DISTINCT id) FROM memberships", "80 80")
}
