package gormid_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// declarations lists keys that can't be filled in.
var declarations = []struct {
	key     any // its type is that of the field ID
	tag     string
	problem string
	only    string // the dialects to try this on; all if empty
}{
	{int32(0), "autoIncrement:false;snowkey", "cannot hold a 64-bit key", ""},
	{float64(0), "snowkey", "cannot hold a 64-bit key", ""},
	{new(*int64), "snowkey", "pointer to a pointer", ""},
	{new(*pk.ID), "", "pointer to a pointer", ""},
	{int64(0), "snowkey", "numbered by the database", ""},
	{pk.ID(0), "type:bigserial", "numbered by the database", ""},
	{pk.ID(0), "generated:identity", "numbered by the database", ""},
	{pk.ID(0), "default:7", "has a default", ""},
	{pk.ID(0), "->", "not written by Create", ""},
	{int64(0), "autoIncrement:false;size:32;snowkey", "too narrow", ""},
	{pk.ID(0), "type:integer", "too narrow", "postgres,mysql"},
	{pk.ID(0), "type:real", "too narrow", ""},
	{pk.ID(0), "type:decimal(10,0)", "too narrow", ""},
	{pk.SortText(0), "type:char(12)", "too narrow", ""},
	{"", "size:10;snowkey", "too narrow", ""},
	{"", "type:bigint;snowkey", "text in a column of numbers", ""},
	{pk.Text(0), "type:bigint;snowkey", "text in a column of numbers", ""},
	{pk.Text(0), "type:decimal(20)", "text in a column of numbers", ""},
	{pk.ID(0), "type:varchar(20);autoIncrement:false;snowkey", "integer in a column of text", ""},
	{int64(0), "type:varchar(20);autoIncrement:false;snowkey", "integer in a column of text", ""},
	{pk.ID(0), "type:text", "integer in a column of text", ""},
	{int64(0), "autoIncrement:false;serializer:json;snowkey", "serializer", ""},
}

// The other fields of these models can't be filled in, or foreign keys would be damaged.
type (
	embeddedKey struct {
		pk.ID `gorm:"primaryKey"`
		Name  string
	}
	gormModel struct {
		gorm.Model `gorm:"embedded;snowkey"`
	}
	integer struct {
		ID pk.ID `gorm:"type:integer"`
	}
	stray struct {
		ID     uint
		Public int64 `gorm:"snowkey"`
	}
	belongs[F any] struct {
		ID     uint
		UserID F
		User   user
	}
	otherForm struct {
		ID      uint
		PrizeID pk.ID
		Prize   prize
	}
	garbledOwner struct {
		ID   pk.ID
		Tags []tagged `gorm:"polymorphic:Owner"`
	}
	tagged struct {
		ID        pk.ID
		OwnerID   string
		OwnerType string
	}
)

// TestDeclarations: a declaration that would damage keys must be refused when its first
// row is created, before an id is drawn or a transaction begins. It must also be
// refused if it's in Config.Models.
func TestDeclarations(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e, listed := open(t, about), bare(t, about)
		for _, db := range []*gorm.DB{e.DB, listed.DB} {
			db.NamingStrategy = schema.NamingStrategy{TablePrefix: "unnamed"} // the first models have no names
		}
		refused := func(model any, field, problem string) {
			t.Helper()
			for range 2 { // the second time, the result is cached
				idtest.WantFieldError(t, e.Create(model).Error, field, problem)
			}
			idtest.WantFieldError(t, listed.Use(gormid.New(gormid.Config{Models: []any{model}})), field, problem)
		}
		for _, d := range declarations {
			if d.only == "" || strings.Contains(d.only, about.Dialect) {
				id := reflect.StructField{Name: "ID", Type: reflect.TypeOf(d.key), Tag: reflect.StructTag(`gorm:"primaryKey;` + d.tag + `"`)}
				refused(reflect.New(reflect.StructOf([]reflect.StructField{id})).Interface(), "ID", d.problem)
			}
		}
		if about.Dialect == "sqlite" { // where every integer has 64 bits
			use(t, bare(t, about).DB, gormid.Config{Models: []any{&integer{}}})
		}
		refused(&embeddedKey{}, "ID", "is embedded, so that JSON has the key")
		refused(&gormModel{}, "ID", "numbered by the database")
		refused(&stray{}, "Public", "not a primary key")
		refused(&belongs[uint32]{}, "UserID", "cannot hold the key of gormid_test.user")
		refused(&belongs[float64]{}, "UserID", "cannot hold the key of gormid_test.user")
		refused(&belongs[string]{}, "UserID", "cannot hold the key of gormid_test.user")
		refused(&otherForm{}, "PrizeID", "cannot hold the key of gormid_test.prize")
		refused(&garbledOwner{}, "OwnerID", "cannot hold the key of gormid_test.garbledOwner")
		if e.source.Calls() != 0 || e.conn.begun.Load() != 0 {
			t.Errorf("%d times keys were drawn, %d transactions were begun", e.source.Calls(), e.conn.begun.Load())
		}
	})
}

// TestModels: all faults of Config.Models must be reported at once, in which case
// nothing may be installed.
func TestModels(t *testing.T) {
	e := bare(t, dbtest.SQLite(t), &user{})
	err := e.Use(gormid.New(gormid.Config{Source: e.source, Models: []any{&user{}, &belongs[uint32]{}, &note{}, &gorm.Model{}, &struct{ Name string }{}, 5}}))
	for _, part := range []string{
		"gormid_test.belongs[uint32].UserID (uint32) cannot hold the key of gormid_test.user that it refers to; declare it as pk.ID",
		"gorm.Model.ID (uint) has not opted in",
		"has no key to fill",
		"unsupported data type",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in the error %v", part, err)
		}
	}
	if err := e.Create(&user{Name: "a"}).Error; err != nil { // would fail if the plugin filled in keys
		t.Fatal(err)
	}
	e.wantTable(t, "SELECT id FROM users", "0")
	use(t, e.DB, gormid.Config{})
	if err := e.Use(gormid.New(gormid.Config{})); !errors.Is(err, gorm.ErrRegistered) {
		t.Errorf("the second plugin: %v", err)
	}
}

// TestJoinTable: if the caller provides a join table, its foreign keys must be checked.
func TestJoinTable(t *testing.T) {
	type narrow struct {
		ID       pk.ID
		AuthorID pk.ID
		CircleID int32
	}
	e := bare(t, dbtest.SQLite(t))
	dbtest.NoError(t, e.SetupJoinTable(&author{}, "Circles", &narrow{}))
	idtest.WantFieldError(t, e.Use(gormid.New(gormid.Config{Models: []any{&author{}}})), "CircleID", "cannot hold the key of gormid_test.circle")
}

// These models are only refused for certain calls or rows.
type (
	composite struct {
		TenantID pk.ID `gorm:"primaryKey"`
		ID       pk.ID `gorm:"primaryKey"`
		Name     string
	}
	compositeTagged struct {
		Region string `gorm:"primaryKey;size:20"`
		Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Name   string
	}
	pair struct {
		NodeID pk.ID `gorm:"primaryKey"`
		TagID  pk.ID `gorm:"primaryKey"`
		Name   string
	}
	manual struct {
		UserID pk.ID `gorm:"primaryKey;snowkey:-"`
		Name   string
	}
	passport struct { // has the same key as its user
		UserID pk.ID `gorm:"primaryKey"`
		User   *user
		Name   string
	}
)

var errSource = errors.New("no ids today")

type refusal struct {
	name    string
	model   any // of rows that are maps, or of another type
	rows    any
	create  func(e *env) *gorm.DB // instead of rows
	row     int
	problem string
	is      error
	late    bool // only noticed when GORM has already begun a transaction
}

// refusals returns them anew, because the rows are used on several databases at once.
func refusals() []refusal {
	return []refusal{
		{name: "struct by value", row: -1, problem: "passed by value", is: gorm.ErrInvalidValue, rows: user{Name: "a"}},
		{name: "struct by value with key", row: -1, problem: "passed by value", rows: user{ID: idA}},
		{name: "array by value", row: -1, problem: "passed by value", rows: [2]user{}},
		{name: "nil pointer in a slice", row: 1, problem: "nil pointer", is: gorm.ErrInvalidData, rows: []*user{{}, nil}},
		{name: "nil pointer in an array", row: 0, problem: "nil pointer", rows: &[2]*user{}},
		{name: "rows of another type", row: -1, problem: "not the type of the rows", model: &user{}, rows: &[]hooked{{}}},
		{name: "slice of interfaces", row: -1, problem: "not the type of the rows", model: &user{}, rows: &[]any{&user{}}},
		{name: "nil map", row: 0, problem: "nil map", model: &user{}, rows: map[string]any(nil)},
		{name: "pointer to nil map", row: 0, problem: "nil map",
			create: func(e *env) *gorm.DB { var m map[string]any; return e.Model(&user{}).Create(&m) }},
		{name: "nil map in a slice", row: 1, problem: "nil map", model: &user{}, rows: []map[string]any{{"name": "a"}, nil}},

		{name: "Omit of the key", row: -1, problem: "without its key",
			create: func(e *env) *gorm.DB { return e.Omit("ID").Create(&user{Name: "a"}) }},
		{name: "Omit of the column", row: -1, problem: "without its key",
			create: func(e *env) *gorm.DB { return e.Omit("users.id").Create(&[]user{{ID: idA}}) }},
		{name: "Omit of the key of a map", row: -1, problem: "without its key",
			create: func(e *env) *gorm.DB { return e.Model(&user{}).Omit("id").Create(map[string]any{"name": "a"}) }},
		{name: "Omit of a part of a composite key", row: -1, problem: "without its key tenant_id",
			create: func(e *env) *gorm.DB { return e.Omit("TenantID").Create(&composite{TenantID: 1, ID: idA}) }},

		wrongKey("integral float64, as from JSON", float64(1<<53), "a float has lost digits"),
		wrongKey("bool", true, "neither a number nor text"),
		wrongKey("text that is no number", "abc", "plain decimal"),
		wrongKey("text with zeros", "007", "plain decimal"),
		wrongKey("uint64 above all keys", uint64(math.MaxInt64)+1, "uint64 values with high bit set"),
		wrongKey("SQL expression", gorm.Expr("1+1"), "is not known after the INSERT"),
		wrongKey("SQL column", clause.Expr{SQL: "age"}, "is not known after the INSERT"),
		{name: "map with a negative number for an unsigned key", problem: "-1 is negative", model: &note{}, rows: map[string]any{"id": -1}},
		{name: "map with text that is no number for a raw key", problem: "plain decimal", model: &book{}, rows: map[string]any{"id": "1.5"}},
		{name: "a map with two keys", row: 0, problem: "under several names", model: &user{},
			rows: map[string]any{"id": int64(idA), "ID": int64(idB), "name": "a"}},
		{name: "the second of maps has a wrong key", row: 1, problem: "has an invalid key", model: &user{},
			rows: []map[string]any{{"name": "a"}, {"name": "b", "ID": 1e17}}},

		{name: "a hook clears the key", row: 0, problem: "has lost its key", late: true, rows: &hooked{Name: "clears"}},
		{name: "a hook clears keys", row: 0, problem: "has lost its key", late: true, rows: &[]hooked{{Name: "clears"}, {ID: idA}}},

		{name: "part of a composite key", row: 1, problem: "composite key", late: true,
			rows: &[]composite{{TenantID: 1, ID: idA}, {TenantID: 1}}},
		{name: "tagged part of a composite key", row: 0, problem: "composite key", late: true, rows: &compositeTagged{Region: "r"}},
		{name: "composite key of zeros", row: 0, problem: "has no key, and NodeID is part of a composite key", late: true,
			rows: &pair{Name: "a"}},
		{name: "second part of a composite key", row: 1, problem: "has no key, and TagID is part of a composite key", late: true,
			rows: []*pair{{NodeID: idA, TagID: idB}, {NodeID: idA}}},
		{name: "second part of a composite key, in a map", row: 1, problem: "has no key, and TagID is part of a composite key", late: true,
			model: &pair{}, rows: []map[string]any{{"node_id": int64(idA), "tag_id": int64(idB)}, {"node_id": int64(idA), "tag_id": 0}}},
		{name: "tagged as the caller's", row: 0, problem: "snowkey:-", late: true, rows: &manual{Name: "a"}},
		{name: "foreign key without its row", row: 0, problem: "foreign key", late: true, rows: &passport{Name: "a"}},
	}
}

func wrongKey(kind string, key any, problem string) refusal {
	return refusal{name: "map with " + kind, problem: problem, model: &user{}, rows: map[string]any{"name": "a", "id": key}}
}

// TestRefusals: an invalid call must fail with an error that gives the reason, and
// nothing may be inserted. Unless that's impossible, no transaction may begin either.
func TestRefusals(t *testing.T) {
	each(t, []any{&user{}, &hooked{}, &composite{}, &compositeTagged{}, &pair{}, &manual{}, &passport{}}, func(t *testing.T, e *env) {
		for _, r := range refusals() {
			t.Run(r.name, func(t *testing.T) {
				begun := e.conn.begun.Load()
				if r.create == nil {
					r.create = func(e *env) *gorm.DB { return e.Model(r.model).Create(r.rows) }
				}
				err := r.create(e).Error
				idtest.WantRowError(t, err, r.row, r.problem)
				if r.is != nil && !errors.Is(err, r.is) {
					t.Errorf("%v is not %v", err, r.is)
				}
				if !r.late && e.conn.begun.Load() != begun {
					t.Error("a transaction was begun")
				}
				for _, table := range []string{"users", "hookeds", "composites", "composite_taggeds", "pairs", "manuals", "passports"} {
					e.wantTable(t, "SELECT * FROM "+table)
				}
			})
		}
	})
}

// TestGivenKeys: keys that aren't filled in by the plugin must be inserted unchanged.
func TestGivenKeys(t *testing.T) {
	each(t, []any{&user{}, &composite{}, &compositeTagged{}, &pair{}, &manual{}, &passport{}}, func(t *testing.T, e *env) {
		must(t, e.Create([]*composite{{TenantID: 1, ID: idA}, {TenantID: 1, ID: idB}}))
		must(t, e.Create(&compositeTagged{Region: "r", Number: idA}))
		must(t, e.Create(&pair{NodeID: idA, TagID: idB}))
		e.wantTable(t, "SELECT node_id, tag_id FROM pairs", line(int64(idA), int64(idB)))
		must(t, e.Create(manual{UserID: idA})) // works by value too, because GORM supports that
		e.wantTable(t, "SELECT id FROM composites ORDER BY id", line(int64(idA)), line(int64(idB)))
		e.wantTable(t, "SELECT number FROM composite_taggeds", line(int64(idA)))
		must(t, e.Select("Name").Create(&composite{TenantID: idB, ID: idA, Name: "a"}))
		e.wantTable(t, "SELECT tenant_id, id FROM composites WHERE name = 'a'", line(int64(idB), int64(idA)))
		e.wantTable(t, "SELECT user_id FROM manuals", line(int64(idA)))

		// GORM sets the key to that of the user, which is created first.
		p := passport{Name: "p", User: &user{Name: "u"}}
		must(t, e.Create(&p))
		if p.UserID == 0 || p.UserID != p.User.ID {
			t.Errorf("the passport of %d has the key %d", p.User.ID, p.UserID)
		}
		e.wantTable(t, "SELECT u.id, p.user_id FROM users u JOIN passports p ON p.user_id = u.id", line(p.User.ID, p.UserID))
	})
}

// TestForeignKeyFromOwner: if a key is a foreign key, it must not be filled in, even if
// only the owner's model says that it is one. The order of Config.Models must not make a
// difference.
func TestForeignKeyFromOwner(t *testing.T) {
	type permit struct {
		ID   pk.ID
		Name string
	}
	type holder struct {
		ID     pk.ID
		Permit permit `gorm:"foreignKey:ID"`
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, models := range [][]any{nil, {&holder{}, &permit{}}, {&permit{}, &holder{}}} {
			e := bare(t, about, &holder{}, &permit{})
			use(t, e.DB, gormid.Config{Source: e.source, Models: models})
			e.wipe(t, "permits", "holders")
			h := holder{Permit: permit{Name: "p"}}
			must(t, e.Create(&h))
			if h.ID == 0 || h.Permit.ID != h.ID {
				t.Errorf("the permit of holder %d has the key %d", h.ID, h.Permit.ID)
			}
			idtest.WantRowError(t, e.Create(&permit{Name: "nobody's"}).Error, 0, "foreign key")
			e.wantTable(t, "SELECT id, name FROM permits", line(h.ID, "p"))
		}
	})
}

// TestMapWithoutModel: if a row without a key is a map of an unknown model, no database
// may store it. SQLite would otherwise store NULL.
func TestMapWithoutModel(t *testing.T) {
	type bare struct {
		ID   pk.ID
		Name string
	}
	each(t, []any{&bare{}}, func(t *testing.T, e *env) {
		must(t, e.Table("bares").Create(map[string]any{"id": int64(idA), "name": "a"}))
		for row, rows := range []any{map[string]any{"name": "b"}, []map[string]any{{"id": int64(idB), "name": "b"}, {"id": nil, "name": "c"}}} {
			if err := e.Table("bares").Create(rows).Error; err == nil {
				t.Errorf("%v: no error", rows)
			} else if e.about.Dialect == "sqlite" {
				idtest.WantRowError(t, err, row, "SQLite would store NULL")
			}
		}
		must(t, e.Model(&bare{}).Create(map[string]any{"name": "d"}))
		must(t, e.Exec("CREATE TABLE counted (id INTEGER PRIMARY KEY, name varchar(20))"))
		if e.about.Dialect == "sqlite" { // SQLite numbers this one
			must(t, e.Table("counted").Create(map[string]any{"name": "e"}))
		}
		e.wantTable(t, "SELECT name FROM bares ORDER BY name", line("a"), line("d"))
	})
}

// TestForgottenPlugin: with the check that docs/gorm.md recommends, a program without the
// plugin must not store the key 0, and AutoMigrate must find nothing to alter later.
func TestForgottenPlugin(t *testing.T) {
	type guarded struct {
		ID   pk.ID `gorm:"check:id > 0"`
		Name string
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about, &guarded{})
		dbtest.NoError(t, gormid.Check(t.Context(), e.DB, &guarded{}))
		if err := e.Create(&guarded{Name: "a"}).Error; err == nil {
			t.Error("the key 0 was stored")
		}
		e.wantTable(t, "SELECT id FROM guardeds")
		if changes := e.changes(t, &guarded{}); changes != nil {
			t.Errorf("the second AutoMigrate sends %q", changes)
		}
		use(t, e.DB, gormid.Config{Source: e.source})
		must(t, e.Create(&guarded{Name: "a"}))
	})
}

// If a row is passed to a call twice, it must be refused, and must not keep a key.
func TestRepeatedRow(t *testing.T) {
	e := open(t, dbtest.SQLite(t), &user{})
	ada, bob := &user{Name: "Ada"}, &user{Name: "Bob"}
	idtest.WantRowError(t, e.Create([]*user{ada, bob, ada}).Error, 0, "is in the call a second time")
	if ada.ID != 0 || bob.ID != 0 {
		t.Errorf("the keys are %d and %d", ada.ID, bob.ID)
	}
	row := map[string]any{"name": "Eve"}
	idtest.WantRowError(t, e.Model(&user{}).Create([]map[string]any{row, row}).Error, 0, "is in the call a second time")
	if len(row) != 1 {
		t.Errorf("the map is %v", row)
	}
	must(t, e.Create([]*user{ada, bob}))
	e.wantTable(t, "SELECT id, name FROM users ORDER BY id", line(ada.ID, "Ada"), line(bob.ID, "Bob"))
}

type (
	mainItem struct {
		ID   pk.ID
		Name string `gorm:"size:40"`
	}
	otherItem struct {
		ID   int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Name string `gorm:"size:40"`
	}
)

func (mainItem) TableName() string  { return "main.items" }
func (otherItem) TableName() string { return "temp.items" }

// If a model's table name includes the schema, a map finds the model both with and without
// it. If two models have tables of the same name, a map needs to have the model.
func TestQualifiedModels(t *testing.T) {
	for name, models := range map[string][]any{"one": {&mainItem{}}, "same name": {&mainItem{}, &otherItem{}}} {
		t.Run(name, func(t *testing.T) {
			e := bare(t, dbtest.SQLite(t))
			use(t, e.DB, gormid.Config{Source: e.source, Models: models})
			e.conn.SetMaxOpenConns(1)
			dbtest.Exec(t, e.conn.DB, "CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT)")
			a, b := map[string]any{"name": "a"}, map[string]any{"name": "b"}
			if len(models) == 1 {
				must(t, e.Table("main.items").Create(a))
				must(t, e.Table("items").Create(b))
				e.wantTable(t, "SELECT id, name FROM items ORDER BY id", line(a["id"], "a"), line(b["id"], "b"))
				return
			}
			dbtest.Exec(t, e.conn.DB, "CREATE TABLE temp.items (id BIGINT PRIMARY KEY, name TEXT)")
			idtest.WantRowError(t, e.Table("main.items").Create(a).Error, -1, "have tables of the same name")
			must(t, e.Model(&mainItem{}).Create(a))
			must(t, e.Model(&otherItem{}).Create(b))
			e.wantTable(t, "SELECT * FROM main.items UNION SELECT * FROM temp.items ORDER BY id", line(a["id"], "a"), line(b["id"], "b"))
		})
	}
}
