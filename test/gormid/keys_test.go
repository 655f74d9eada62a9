package gormid_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// byType opts in by its type, whereas byTag does so by its tag.
type byType[T any] struct {
	ID   T
	Name string
}

type byTag[T any] struct {
	ID   T `gorm:"primaryKey;autoIncrement:false;snowkey"`
	Name string
}

type sized[T any] struct {
	Number T `gorm:"primaryKey;size:20;snowkey:numbers"`
	Name   string
}

type numeric[T any] struct {
	ID   T `gorm:"primaryKey;type:bigint;snowkey"`
	Name string
}

type worded[T any] struct {
	ID   T `gorm:"primaryKey;type:varchar(20);autoIncrement:false;snowkey"`
	Name string
}

// Without the size, GORM would use the size of the Go type, and alter the column in
// every migration.
type ofSize20 struct {
	ID   pk.Text `gorm:"size:20"`
	Name string
}

type ofSize13[T any] struct {
	ID   T `gorm:"size:13"`
	Name string
}

func (ofSize20) TableName() string    { return "keyed" }
func (ofSize13[T]) TableName() string { return "keyed" }
func (byType[T]) TableName() string   { return "keyed" }
func (byTag[T]) TableName() string    { return "keyed" }
func (sized[T]) TableName() string    { return "keyed" }

type (
	serial int64
	code   string
	ref    uint64
)

const (
	bigint   = "sqlite bigint, postgres bigint, mysql bigint"
	integer  = "sqlite integer, postgres bigint, mysql bigint"
	unsigned = "sqlite integer, postgres bigint, mysql bigint unsigned"
)

// TestKeyTypes: for every type of key, the plugin must fill in the key, the migrator
// must create a column that the database doesn't number, and a key must find its own
// row but no other.
func TestKeyTypes(t *testing.T) {
	pool := idtest.Pool(t, 301)
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, k := range []struct {
			name    string
			test    func(*testing.T, *env)
			columns string
			text    func(int64) string
		}{
			{"pk.ID", keyType[byType[pk.ID]], bigint, decimal},
			{"pk.Of", keyType[byType[pk.Of[user]]], bigint, decimal},
			{"pk.String", keyType[byType[pk.String]], bigint, decimal},
			{"pk.Text", keyType[ofSize20], "sqlite varchar(20), postgres character varying(20), mysql varchar(20)", decimal},
			{"pk.SortText", keyType[ofSize13[pk.SortText]], "sqlite char(13), postgres character(13), mysql char(13)", sortable},
			{"*pk.ID", keyType[byType[*pk.ID]], bigint, decimal},
			{"*pk.String", keyType[byType[*pk.String]], bigint, decimal},
			{"*pk.SortText", keyType[ofSize13[*pk.SortText]], "sqlite char(13), postgres character(13), mysql char(13)", sortable},
			{"pk.ID, tagged", keyType[byTag[pk.ID]], bigint, decimal},
			{"int64", keyType[byTag[int64]], integer, decimal},
			{"int", keyType[byTag[int]], integer, decimal},
			{"uint64", keyType[byTag[uint64]], unsigned, decimal},
			{"uint", keyType[byTag[uint]], unsigned, decimal},
			{"string", keyType[byTag[string]], "sqlite text, postgres text, mysql varchar(191)", decimal},
			{"string of 20", keyType[sized[string]], "sqlite text, postgres character varying(20), mysql varchar(20)", decimal},
			{"*int64", keyType[byTag[*int64]], integer, decimal},
			{"*uint64", keyType[byTag[*uint64]], unsigned, decimal},
			{"*string", keyType[byTag[*string]], "sqlite text, postgres text, mysql varchar(191)", decimal},
			{"named int64", keyType[byTag[serial]], integer, decimal},
			{"named uint64", keyType[byTag[ref]], unsigned, decimal},
			{"named string", keyType[byTag[code]], "sqlite text, postgres text, mysql varchar(191)", decimal},
			{"pointer to named", keyType[byTag[*serial]], integer, decimal},
		} {
			t.Run(k.name, func(t *testing.T) {
				e := bare(t, about) // a new connection, because pgx remembers the types of columns
				use(t, e.DB, gormid.Config{Source: pool})
				defer e.Exec("DROP TABLE keyed")
				k.test(t, e)
				want, _, _ := strings.Cut(k.columns[strings.Index(k.columns, about.Dialect)+len(about.Dialect)+1:], ",")
				e.wantColumn(t, "keyed", want)
				for _, line := range e.table(t, "SELECT * FROM keyed") {
					stored, name, _ := strings.Cut(line, " ")
					if n, err := strconv.ParseInt(name, 10, 64); err != nil || stored != k.text(n) {
						t.Errorf("the key %s is stored as %q, want %q", name, stored, k.text(n))
					}
				}
			})
		}
	})
}

func decimal(id int64) string  { return strconv.FormatInt(id, 10) }
func sortable(id int64) string { return pk.SortText(id).String() }

// keyType creates rows of the model M whose names contain their keys as numbers.
func keyType[M any](t *testing.T, e *env) {
	migrate(t, e.DB, new(M))
	e.Callback().Raw().Before("gorm:raw").Register("test:ddl", func(db *gorm.DB) {
		if sql := db.Statement.SQL.String(); !strings.HasPrefix(sql, "DROP TABLE") {
			t.Errorf("the second migration finds something to change: %s", sql)
		}
	})
	migrate(t, e.DB, new(M))

	// Two of the rows are filled in, and the other two have keys. After that, we do the
	// same with maps, which have two more kinds of zero.
	list := make([]M, 4)
	setKey(&list[1], 0) // "0" if keys are text
	setKey(&list[2], idA)
	setKey(&list[3], idB)
	must(t, e.Create(&list))
	column := "id"
	if _, ok := reflect.TypeFor[M]().FieldByName("Number"); ok {
		column = "number"
	}
	maps := []map[string]any{{}, {column: nil}, {column: strconv.FormatInt(idA+2, 10)}, {column: uint64(idB + 2)}, {column: 0}, {column: ""}, {column: "0"}}
	if strings.Contains(reflect.TypeFor[M]().Name(), "SortText") {
		maps[2][column] = sortable(idA + 2)
		maps[6][column] = sortable(0)
	}
	must(t, e.Model(new(M)).Create(maps))
	for _, m := range maps {
		var row M
		n, ok := numberIn(m[column])
		if !ok {
			t.Fatalf("a map holds the key %#v", m[column])
		}
		setKey(&row, n)
		list = append(list, row)
	}
	keys := make(map[int64]bool)
	for i := range list {
		n := keyOf(&list[i])
		keys[n] = true
		if want := map[int]int64{2: idA, 3: idB, 6: idA + 2, 7: idB + 2}[i]; n == 0 || want != 0 && n != want {
			t.Fatalf("row %d has the key %d, want %d", i, n, want)
		}
		// Every row must be found by its key, without changing any other.
		tx := e.Model(&list[i]).Update("name", strconv.FormatInt(n, 10))
		if tx.Error != nil || tx.RowsAffected != 1 {
			t.Fatalf("the key %d finds %d rows (%v)", n, tx.RowsAffected, tx.Error)
		}
	}
	if len(keys) != len(list) {
		t.Errorf("%d rows have %d keys", len(list), len(keys))
	}
	var back []M
	must(t, e.Find(&back))
	if len(back) != len(list) {
		t.Errorf("read %d rows of %d", len(back), len(list))
	}
	for i := range back {
		if !keys[keyOf(&back[i])] {
			t.Errorf("read a key %d that was never given out", keyOf(&back[i]))
		}
	}
}

// keyOf returns the number that is in the first field of a row.
func keyOf(row any) int64 {
	n, _ := numberIn(reflect.ValueOf(row).Elem().Field(0).Interface())
	return n
}

func numberIn(key any) (n int64, ok bool) {
	v := reflect.Indirect(reflect.ValueOf(key))
	switch {
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), true
	case v.Kind() != reflect.String:
		return 0, false
	case len(v.String()) == 13:
		id, err := pk.ParseSort(v.String())
		return id.Int64(), err == nil
	}
	n, err := strconv.ParseInt(v.String(), 10, 64)
	return n, err == nil
}

func setKey(row any, n int64) {
	v := reflect.ValueOf(row).Elem().Field(0)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case v.CanInt():
		v.SetInt(n)
	case v.CanUint():
		v.SetUint(uint64(n))
	default:
		v.SetString(strconv.FormatInt(n, 10))
	}
}

// wantColumn checks the type of the first column, and that the database doesn't number
// it.
func (e *env) wantColumn(t *testing.T, table, want string) {
	t.Helper()
	query := map[string]string{
		"sqlite": `SELECT lower(type), (SELECT sql LIKE '%autoincrement%' FROM sqlite_master WHERE name = '` + table + `'), pk
			FROM pragma_table_info('` + table + `') WHERE cid = 0`,
		"postgres": `SELECT format_type(atttypid, atttypmod), atthasdef OR attidentity <> '' OR pg_get_serial_sequence('` + table + `', attname) IS NOT NULL, 1
			FROM pg_attribute WHERE attrelid = '` + table + `'::regclass AND attnum = 1`,
		"mysql": `SELECT column_type, extra LIKE '%auto_increment%' OR column_default IS NOT NULL, column_key = 'PRI'
			FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '` + table + `' AND ordinal_position = 1`,
	}[e.about.Dialect]
	no := "0"
	if e.about.Dialect == "postgres" {
		no = "false"
	}
	got := e.table(t, query)
	if e.about.MariaDB { // it still shows widths, which MySQL did before 8.0.19
		got[0] = strings.NewReplacer("bigint(20)", "bigint").Replace(got[0])
	}
	if len(got) != 1 || got[0] != line(want, no, 1) {
		t.Errorf("the column of the key is %q, want %q", got, line(want, no, 1))
	}
}

// TestSharedPointer: rows that share a pointer to zero must each get their own key, and
// the shared value must not change.
func TestSharedPointer(t *testing.T) {
	type pointed struct {
		ID   *pk.ID
		Name string
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := open(t, about, &pointed{})
		var zero pk.ID
		ps := []pointed{{ID: &zero, Name: "a"}, {ID: &zero, Name: "b"}}
		must(t, e.Create(&ps))
		if zero != 0 || ps[0].ID == ps[1].ID {
			t.Errorf("the shared key has become %d", zero)
		}
		e.wantTable(t, "SELECT name, id FROM pointeds ORDER BY name", line("a", *ps[0].ID), line("b", *ps[1].ID))
	})
}

// Base, Model and Raw are for embedding, so GORM requires their names to be exported.
type (
	Base struct {
		ID      pk.ID
		Created int64 `gorm:"autoCreateTime"`
	}
	Model struct { // like gorm.Model
		ID        pk.ID `gorm:"primarykey"`
		DeletedAt gorm.DeletedAt
	}
	Raw struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
)

// TestEmbedded: keys of structs that are embedded, by value or by pointer, must be
// filled in.
func TestEmbedded(t *testing.T) {
	type plain struct {
		Base
		Name string
	}
	type pointer struct {
		*Base
		Name string
	}
	type prefix struct {
		Inner *Base `gorm:"embedded;embeddedPrefix:b_"`
		Name  string
	}
	type soft struct {
		Model
		Name string
	}
	type tagged struct {
		Raw  `gorm:"embedded;snowkey"`
		Name string
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := open(t, about, &plain{}, &pointer{}, &prefix{}, &soft{}, &tagged{})

		x := []plain{{Name: "a"}, {Name: "b", Base: Base{ID: idA}}}
		must(t, e.Create(&x))
		e.wantTable(t, "SELECT name, id FROM plains ORDER BY name", line("a", x[0].ID), line("b", int64(idA)))

		i := []prefix{{Name: "a"}, {Name: "b", Inner: &Base{ID: idA}}}
		must(t, e.Create(&i))
		e.wantTable(t, "SELECT name, b_id FROM prefixes ORDER BY name", line("a", i[0].Inner.ID), line("b", int64(idA)))

		p := []*pointer{{Name: "a"}, {Name: "b", Base: &Base{ID: idA}}, {Name: "c", Base: &Base{}}}
		must(t, e.Create(&p))
		if p[0].ID == 0 || p[0].ID >= p[2].ID {
			t.Errorf("keys are %d and %d", p[0].ID, p[2].ID)
		}
		e.wantTable(t, "SELECT name, id FROM pointers ORDER BY name", line("a", p[0].ID), line("b", int64(idA)), line("c", p[2].ID))

		s := soft{Name: "a"}
		must(t, e.Create(&s))
		must(t, e.Delete(&s))
		again := soft{Name: "b"}
		must(t, e.Create(&again))
		e.wantTable(t, "SELECT name, id, deleted_at IS NOT NULL FROM softs ORDER BY name",
			line("a", s.ID, e.bool(true)), line("b", again.ID, e.bool(false)))

		r := tagged{Name: "a"}
		must(t, e.Create(&r))
		e.wantTable(t, "SELECT name, id FROM taggeds", line("a", r.ID))
		e.wantColumn(t, "taggeds", map[string]string{"sqlite": "integer", "postgres": "bigint", "mysql": "bigint"}[about.Dialect])
	})
}

func (e *env) bool(b bool) any {
	if e.about.Dialect == "postgres" {
		return b
	}
	return map[bool]int{true: 1}[b]
}
