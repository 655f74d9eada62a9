package gormid_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

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

// creates lists the ways to create three rows that have code of their own in GORM or in the
// plugin.
var creates = map[string]func(db *gorm.DB, as []account) *gorm.DB{
	"list":       func(db *gorm.DB, as []account) *gorm.DB { return db.Create(&as) },
	"one by one": oneByOne,
	"pointers":   pointers,
	"array":      func(db *gorm.DB, as []account) *gorm.DB { return db.Create((*[3]account)(as)) },
	"batches":    func(db *gorm.DB, as []account) *gorm.DB { return db.CreateInBatches(&as, 2) },
	"Select":     func(db *gorm.DB, as []account) *gorm.DB { return db.Select("Name", "Email").Create(&as) },
	"prepared, without transaction": func(db *gorm.DB, as []account) *gorm.DB {
		return db.Session(&gorm.Session{PrepareStmt: true, SkipDefaultTransaction: true}).Create(&as)
	},
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

// everyWay returns the cases for each of creates: the first row conflicts, the others don't.
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

// These have a key that the clause doesn't name. MySQL would merge rows on any key that is
// violated, and on the others they fail.
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

// TestMergedOwner: the associations of a merged row must belong to the row in the
// table, whereas those of a skipped row must not have an owner.
func TestMergedOwner(t *testing.T) {
	type ticket struct {
		ID       pk.ID
		HolderID pk.ID
	}
	type holder struct {
		ID      pk.ID
		Email   string `gorm:"size:40;unique"`
		Tickets []ticket
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := open(t, about, &holder{}, &ticket{})
		must(t, e.Create(&holder{ID: idA, Email: "taken"}))
		hs := []holder{{Email: "new", Tickets: []ticket{{}}}, {Email: "taken", Tickets: []ticket{{}}}}
		must(t, e.Clauses(clause.OnConflict{Columns: byEmail, DoUpdates: clause.AssignmentColumns([]string{"email"})}).Create(&hs))
		want := []string{line(hs[0].Tickets[0].ID, hs[0].ID), line(hs[1].Tickets[0].ID, int64(idA))}
		e.wantTable(t, "SELECT id, holder_id FROM tickets ORDER BY id", want...)

		h := holder{Email: "taken", Tickets: []ticket{{}}}
		idtest.WantRowError(t, e.Clauses(doNothing).Create(&h).Error, 0, "was left out by the upsert, and its Tickets")
		if h.ID != 0 || h.Tickets[0].HolderID != 0 {
			t.Errorf("got %+v", h)
		}
		e.wantTable(t, "SELECT id, holder_id FROM tickets ORDER BY id", want...)
	})
}

type (
	crew struct {
		ID   pk.ID
		Name string `gorm:"size:40;unique"`
	}
	sailor struct {
		ID     pk.ID
		Name   string `gorm:"size:40;unique"`
		CrewID pk.ID
		Crew   *crew
		Boat   *boat
		Skills []skill `gorm:"many2many:sailor_skills"`
		Ports  []port  `gorm:"many2many:visits"`
	}
	boat struct {
		ID       pk.ID
		SailorID pk.ID
		Sign     string `gorm:"size:40;unique"`
	}
	skill struct {
		ID        pk.ID
		Name      string  `gorm:"size:40;unique"`
		Code      *string `gorm:"size:40;uniqueIndex"`
		DeletedAt gorm.DeletedAt
	}
	port struct {
		ID   pk.ID
		Name string `gorm:"size:40;uniqueIndex"`
	}
	// A visit is a row of a join table, and has its own key.
	visit struct {
		ID       pk.ID
		SailorID pk.ID
		PortID   pk.ID
		Port     port
	}
)

// TestLeftOutWithoutForeignKeys: GORM inserts associated rows with DoNothing. If such a
// row is left out because of its unique name, other rows must refer to the row in the table.
// No row may refer to it as 0, even if the schema has no foreign keys to prevent that.
func TestLeftOutWithoutForeignKeys(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about)
		e.DisableForeignKeyConstraintWhenMigrating = true
		use(t, e.DB, gormid.Config{Source: e.source})
		dbtest.NoError(t, e.SetupJoinTable(&sailor{}, "Ports", &visit{}))
		migrate(t, e.DB, &crew{}, &port{}, &skill{}, &sailor{}, &boat{}, &visit{})
		first := sailor{Name: "first", Crew: &crew{Name: "taken"}, Boat: &boat{Sign: "taken"}, Ports: []port{{Name: "taken"}, {Name: "other"}},
			Skills: []skill{{Name: "taken", Code: new("t")}, {Name: "other", Code: new("o")}, {Name: "deleted"}}}
		must(t, e.Create(&first))
		must(t, e.Delete(&first.Skills[2]))

		for _, c := range []struct {
			name   string
			create func() error
			want   []string // the new sailors with their associations
		}{
			{"belongs to", func() error { return e.Create(&sailor{Name: "a", Crew: &crew{Name: "taken"}}).Error }, []string{"a taken NULL NULL"}},
			{"belongs to, in a list", func() error {
				return e.Create([]*sailor{{Name: "a", Crew: &crew{Name: "new"}}, {Name: "b", Crew: &crew{Name: "taken"}}, {Name: "c", Crew: &crew{Name: "new"}}}).Error
			}, []string{"a new NULL NULL", "b taken NULL NULL", "c new NULL NULL"}},
			{"many to many", func() error {
				return e.Create([]*sailor{{Name: "a", Skills: []skill{{Name: "new"}, {Name: "taken"}}}, {Name: "b", Skills: []skill{{Name: "new"}}}}).Error
			}, []string{"a NULL new NULL", "a NULL taken NULL", "b NULL new NULL"}},
			{"join table with a key", func() error {
				return e.Create([]*sailor{{Name: "a", Ports: []port{{Name: "new"}, {Name: "taken"}}}, {Name: "b", Ports: []port{{Name: "new"}}}}).Error
			}, []string{"a NULL NULL new", "a NULL NULL taken", "b NULL NULL new"}},
			{"appended", func() error {
				a := sailor{Name: "a"}
				must(t, e.Create(&a))
				return errors.Join(e.Model(&a).Association("Crew").Append(&crew{Name: "taken"}),
					e.Model(&a).Association("Skills").Append(&skill{Name: "taken"}),
					e.Model(&a).Association("Ports").Append(&port{Name: "taken"}))
			}, []string{"a taken taken taken"}},
			{"several unique values of one row", func() error {
				return e.Create(&sailor{Name: "a", Skills: []skill{{Name: "taken", Code: new("t")}}}).Error
			}, []string{"a NULL taken NULL"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				dbtest.NoError(t, c.create())
				e.wantTable(t, `SELECT s.name, c.name, k.name, p.name FROM sailors s LEFT JOIN crews c ON c.id = s.crew_id
					LEFT JOIN sailor_skills sk ON sk.sailor_id = s.id LEFT JOIN skills k ON k.id = sk.skill_id
					LEFT JOIN visits v ON v.sailor_id = s.id LEFT JOIN ports p ON p.id = v.port_id
					WHERE s.name <> 'first' ORDER BY s.name, k.name, p.name`, c.want...)
				for _, table := range []string{"sailor_skills", "visits"} {
					e.wipe(t, table)
				}
				must(t, e.Where("name <> ?", "first").Delete(&sailor{}))
				must(t, e.Where("name = ?", "new").Delete(&port{}))
				must(t, e.Unscoped().Where("name = ?", "new").Delete(&skill{}))
				must(t, e.Where("name = ?", "new").Delete(&crew{}))
			})
		}

		tables := []string{"crews", "sailors", "boats", "skills", "sailor_skills", "ports", "visits"}
		before := make(map[string][]string)
		for _, table := range tables {
			before[table] = e.table(t, "SELECT * FROM "+table+" ORDER BY 1, 2")
		}
		for _, c := range []struct {
			name    string
			create  func() error
			row     int
			problem string
		}{
			{"unique values of two rows", func() error {
				return e.Create(&sailor{Name: "a", Skills: []skill{{Name: "new"}, {Name: "taken", Code: new("o")}}}).Error
			}, 1, "because more than one row has its unique values"},
			{"a row that was soft-deleted", func() error { return e.Create(&sailor{Name: "a", Skills: []skill{{Name: "deleted"}}}).Error }, 0,
				"was left out for a row whose key is not known"},
			{"a unique key that is not declared", func() error {
				start := "substr(name, 1, 3)"
				if about.Dialect == "mysql" {
					start = "name(3)"
				}
				must(t, e.Exec("CREATE UNIQUE INDEX undeclared ON crews ("+start+")"))
				defer e.Migrator().DropIndex(&crew{}, "undeclared")
				return e.Create(&sailor{Name: "a", Crew: &crew{Name: "takeover"}}).Error
			}, 0, "was left out for a row whose key is not known"},
			{"not saved, in a join table", func() error {
				return e.Omit("Skills.*").Create(&sailor{Name: "a", Skills: []skill{{Name: "new"}}}).Error
			}, 0,
				"has no key, because SkillID is a foreign key"},
			{"not saved, in a join table with a key", func() error { return e.Omit("Ports.*").Create(&sailor{Name: "a", Ports: []port{{Name: "new"}}}).Error }, 0,
				"refers to a gormid_test.port in PortID that has no key"},
			{"has one", func() error { return e.Clauses(doNothing).Create(&sailor{Name: "first", Boat: &boat{}}).Error }, 0,
				"was left out by the upsert, and its Boat"},
			{"owner of many to many", func() error {
				return e.Clauses(doNothing).Create([]*sailor{{Name: "a"}, {Name: "first", Skills: []skill{{Name: "new"}}}}).Error
			}, 1, "was left out by the upsert, and its Skills"},
		} {
			t.Run(c.name, func(t *testing.T) {
				idtest.WantRowError(t, c.create(), c.row, c.problem)
				for _, table := range tables {
					e.wantTable(t, "SELECT * FROM "+table+" ORDER BY 1, 2", before[table]...)
				}
			})
		}

		// MySQL would give the boat to another sailor, and other databases return an error.
		err := e.Create(&sailor{Name: "a", Boat: &boat{Sign: "taken"}}).Error
		if about.Dialect == "mysql" {
			idtest.WantRowError(t, err, 0, "was merged into a row whose key is not known")
			if strings.Contains(err.Error(), "OnConflict") {
				t.Errorf("GORM has written the clause: %v", err)
			}
		}
		if err == nil {
			t.Error("a boat has changed hands")
		}
		e.wantTable(t, "SELECT * FROM boats", before["boats"]...)

		// The plugin must ignore associations that aren't saved.
		must(t, e.Omit("Crew").Create(&sailor{Name: "a", Crew: &crew{Name: "taken"}}))
		must(t, e.Omit("Boat").Clauses(doNothing).Create(&sailor{Name: "first", Boat: &boat{}}))
		must(t, e.Clauses(doNothing).Create(&sailor{Name: "first"}))
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
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := open(t, about, &player{})
		// MySQL tries the indexes in the order in which they were created, and GORM creates them
		// in any order.
		nick := "nick"
		if about.Dialect == "mysql" {
			nick = "nick(3)"
		}
		for _, column := range []string{"email", "name", nick} {
			must(t, e.Exec("CREATE UNIQUE INDEX idx_players_"+column[:4]+" ON players ("+column+")"))
		}
		ann, bob := player{Email: "a@x", Name: "ann", Nick: "ann"}, player{Email: "b@x", Name: "bob", Nick: "bob"}
		must(t, e.Create([]*player{&ann, &bob}))
		byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"score"})}
		const rows = "SELECT id, name, score FROM players WHERE name <> 'cyd' ORDER BY id"
		for score, create := range []func(p *player) error{
			func(p *player) error { return e.Clauses(byName).Create(p).Error },
			func(p *player) error {
				return e.Clauses(byName).Create([]*player{p, {Email: "c@x", Name: "cyd", Nick: "cyd"}}).Error
			},
		} {
			p := player{Email: "a@x", Name: "bob", Nick: "new", Score: score + 1}
			err := create(&p)
			if about.Dialect == "mysql" {
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
		if about.Dialect == "mysql" && !about.MariaDB { // which doesn't return the key, and nicks are compared in part
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
	err := e.Transaction(func(tx *gorm.DB) error {
		must(t, tx.Find(&[]account{})) // this is when the transaction takes its snapshot
		must(t, e.Create(&account{ID: idA, Name: "old", Email: new("taken")}))
		as := accounts("old taken -", "y new -")
		must(t, tx.Clauses(upsertEmail).Create(&as))
		if as[0].ID != idA {
			t.Errorf("the row was merged into %d and has the key %d", int64(idA), as[0].ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
