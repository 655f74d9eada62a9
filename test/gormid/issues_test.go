package gormid_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// These tests reproduce issues of GORM in which a bulk upsert gives rows in memory the
// keys of other rows. Each upsert runs with GORM alone and keys of the database, and
// then with the plugin.
//
// On MySQL, GORM alone takes one key from LAST_INSERT_ID and counts on from it. But a
// row that is updated takes no number, or leaves a gap. The tests fail if GORM no
// longer does so. MariaDB has RETURNING, which GORM uses, so its keys are right;
// without RETURNING it behaves as MySQL.

// A metadata has a composite unique key, as in issue 3810.
type metadata[K any] struct {
	ID   K
	AID  int    `gorm:"uniqueIndex:,composite:aid_code"`
	Code string `gorm:"size:40;uniqueIndex:,composite:aid_code"`
	Name string `gorm:"size:40"`
}

func (metadata[K]) TableName() string { return "metadata" }

// A member has a unique address.
type member[K any] struct {
	ID        K
	Email     string `gorm:"size:40;uniqueIndex"`
	Name      string `gorm:"size:40"`
	UpdatedAt time.Time
	Memos     []memo[K] `gorm:"foreignKey:MemberID"`
}

func (member[K]) TableName() string { return "members" }

// A memo belongs to a member.
type memo[K any] struct {
	ID       K
	MemberID K
	Text     string `gorm:"size:40"`
}

func (memo[K]) TableName() string { return "memos" }

// members returns one member for each word of emails.
func members[K any](emails string) (ms []*member[K]) {
	for email := range strings.FieldsSeq(emails) {
		ms = append(ms, &member[K]{Email: email, Name: "new " + email})
	}
	return ms
}

// reproduce runs an upsert with each kind of key. It returns the rows, each as its
// key in memory and its unique column, and a query for the same from the table.
func reproduce(t *testing.T, plain, filled func(*testing.T, *gorm.DB) (memory []string, query string)) {
	wrong := func(t *testing.T, e *env, run func(*testing.T, *gorm.DB) ([]string, string)) (wrong []string) {
		memory, query := run(t, e.DB)
		table := e.table(t, query)
		for _, row := range memory {
			if !slices.Contains(table, row) {
				wrong = append(wrong, row)
			}
		}
		return wrong
	}
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, cfg := range []mysql.Config{{}, {DisableWithReturning: true}} {
			if cfg.DisableWithReturning && !about.MariaDB {
				continue
			}
			byNumber := about.Dialect == "mysql" && (!about.MariaDB || cfg.DisableWithReturning)
			fresh := dbtest.Open(t, about.Dialect)
			if rows := wrong(t, connect(t, fresh, cfg), plain); (len(rows) > 0) != byNumber {
				t.Errorf("RETURNING disabled %v: GORM alone has wrong keys for %q", cfg.DisableWithReturning, rows)
			}
			e := connect(t, dbtest.Open(t, about.Dialect), cfg)
			use(t, e.DB, gormid.Config{Source: e.source})
			if rows := wrong(t, e, filled); len(rows) > 0 {
				t.Errorf("RETURNING disabled %v: wrong keys for %q", cfg.DisableWithReturning, rows)
			}
		}
	})
}

// TestGormIssue3810: a second Create of the same rows updates them, and their keys
// in memory are the largest key of the table plus one, and so on. The workaround of
// the issue is CreateInBatches with batches of one row.
// https://github.com/go-gorm/gorm/issues/3810
func TestGormIssue3810(t *testing.T) {
	reproduce(t, issue3810[uint64], issue3810[pk.ID])
}

func issue3810[K any](t *testing.T, db *gorm.DB) (memory []string, query string) {
	migrate(t, db, &metadata[K]{})
	rows := func(name string) []metadata[K] {
		return []metadata[K]{{AID: 1, Code: "a", Name: name}, {AID: 1, Code: "b", Name: name}, {AID: 2, Code: "a", Name: name}}
	}
	save := func(ms []metadata[K]) {
		must(t, db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "a_id"}, {Name: "code"}},
			DoUpdates: clause.AssignmentColumns([]string{"name"}),
		}).Create(&ms))
	}
	save(rows("old"))
	ms := rows("new")
	save(ms)
	for _, m := range ms {
		memory = append(memory, line(m.ID, m.AID, m.Code, "new"))
	}
	return memory, "SELECT id, a_id, code, name FROM metadata"
}

// TestGormIssue4093: some rows of the call exist and are updated, the others are
// inserted.
// https://github.com/go-gorm/gorm/issues/4093
func TestGormIssue4093(t *testing.T) {
	reproduce(t, issue4093[uint64], issue4093[pk.ID])
}

func issue4093[K any](t *testing.T, db *gorm.DB) (memory []string, query string) {
	return upsertMembers(t, db, "a b c", members[K]("c d a e"), func(db *gorm.DB, ms []*member[K]) *gorm.DB {
		return db.Clauses(clause.OnConflict{Columns: byEmail, DoUpdates: setName}).Create(ms)
	})
}

// TestGormIssue6047: CreateInBatches of pointers updates a time of rows that exist.
// https://github.com/go-gorm/gorm/issues/6047
func TestGormIssue6047(t *testing.T) {
	reproduce(t, issue6047[uint64], issue6047[pk.ID])
}

func issue6047[K any](t *testing.T, db *gorm.DB) (memory []string, query string) {
	return upsertMembers(t, db, "test@test.com apple@apple.com", members[K]("test@test.com apple@apple.com"), func(db *gorm.DB, ms []*member[K]) *gorm.DB {
		return db.Clauses(clause.OnConflict{
			Columns:   byEmail,
			DoUpdates: clause.AssignmentColumns([]string{"updated_at"}),
		}).CreateInBatches(ms, 100)
	})
}

// TestGormIssue6663: rows that exist and rows that do not alternate in a slice of
// structs.
// https://github.com/go-gorm/gorm/issues/6663
func TestGormIssue6663(t *testing.T) {
	reproduce(t, issue6663[uint64], issue6663[pk.ID])
}

func issue6663[K any](t *testing.T, db *gorm.DB) (memory []string, query string) {
	return upsertMembers(t, db, "a b c", members[K]("new1 a new2 b new3 c"), func(db *gorm.DB, ms []*member[K]) *gorm.DB {
		var values []member[K]
		for _, m := range ms {
			values = append(values, *m)
		}
		tx := db.Clauses(clause.OnConflict{Columns: byEmail, DoUpdates: clause.AssignmentColumns([]string{"name", "updated_at"})}).Create(&values)
		for i, m := range values {
			*ms[i] = m
		}
		return tx
	})
}

// TestGormIssue7029: UpdateAll has the same fault, and what belongs to a row that
// was updated is stored with the key of another owner.
// https://github.com/go-gorm/gorm/issues/7029
func TestGormIssue7029(t *testing.T) {
	reproduce(t, issue7029[uint64], issue7029[pk.ID])
	reproduce(t, issue7029Memos[uint64], issue7029Memos[pk.ID])
}

func issue7029[K any](t *testing.T, db *gorm.DB) (memory []string, query string) {
	return upsertMembers(t, db, "a b c", members[K]("b new a"), func(db *gorm.DB, ms []*member[K]) *gorm.DB {
		return db.Clauses(clause.OnConflict{Columns: byEmail, UpdateAll: true}).Create(ms)
	})
}

func issue7029Memos[K any](t *testing.T, db *gorm.DB) (memory []string, query string) {
	db.DisableForeignKeyConstraintWhenMigrating = true // else the wrong owners are errors
	ms := members[K]("b new a")
	for _, m := range ms {
		m.Memos = []memo[K]{{Text: "of " + m.Email}}
		memory = append(memory, line(m.Email, "of", m.Email))
	}
	upsertMembers(t, db, "a b c", ms, func(db *gorm.DB, ms []*member[K]) *gorm.DB {
		return db.Clauses(clause.OnConflict{Columns: byEmail, UpdateAll: true}).Create(ms)
	})
	return memory, "SELECT m.email, n.text FROM memos n JOIN members m ON n.member_id = m.id"
}

// TestGormIssue7029WithoutColumns: MySQL merges rows on any unique key. If the clause
// does not name the columns, the plugin cannot find the other row, and the call fails
// instead of returning a wrong key.
func TestGormIssue7029WithoutColumns(t *testing.T) {
	e := open(t, dbtest.MySQL(t), &member[pk.ID]{}, &memo[pk.ID]{})
	must(t, e.Create(members[pk.ID]("a b")))
	before := e.table(t, "SELECT id, email, name FROM members ORDER BY id")
	ms := members[pk.ID]("new b")
	err := e.Clauses(clause.OnConflict{UpdateAll: true}).Create(ms).Error
	wantRowError(t, err, 1, "was merged into a row whose key is not known")
	e.wantTable(t, "SELECT id, email, name FROM members ORDER BY id", before...)
}

// upsertMembers creates the members that exist before, then upserts ms.
func upsertMembers[K any](t *testing.T, db *gorm.DB, existing string, ms []*member[K], upsert func(*gorm.DB, []*member[K]) *gorm.DB) (memory []string, query string) {
	t.Helper()
	migrate(t, db, &member[K]{}, &memo[K]{})
	must(t, db.Create(members[K](existing)))
	must(t, upsert(db, ms))
	for _, m := range ms {
		memory = append(memory, line(m.ID, m.Email))
	}
	return memory, "SELECT id, email FROM members"
}
