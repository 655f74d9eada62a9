package gormid_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

type (
	// A metadata has a composite unique key, just as in issue 3810.
	metadata struct {
		ID   pk.ID
		AID  int    `gorm:"uniqueIndex:,composite:aid_code"`
		Code string `gorm:"size:40;uniqueIndex:,composite:aid_code"`
		Name string `gorm:"size:40"`
	}
	// A member has a unique address.
	member struct {
		ID        pk.ID
		Email     string `gorm:"size:40;uniqueIndex"`
		Name      string `gorm:"size:40"`
		UpdatedAt time.Time
		Memos     []memo
	}
	memo struct {
		ID       pk.ID
		MemberID pk.ID
		Text     string `gorm:"size:40"`
	}
)

// members returns one member for each of the words in emails.
func members(emails string) (ms []*member) {
	for email := range strings.FieldsSeq(emails) {
		ms = append(ms, &member{Email: email, Name: "new " + email, Memos: []memo{{Text: "of " + email}}})
	}
	return ms
}

// TestGormIssues reproduces issues of GORM in which, after a bulk upsert, rows in memory
// have the keys of other rows. On MySQL, GORM alone gets one key from LAST_INSERT_ID and
// counts up from there, even though rows that are updated either take no number or leave
// a gap. Without RETURNING, MariaDB behaves like MySQL.
func TestGormIssues(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, cfg := range []mysql.Config{{}, {DisableWithReturning: true}} {
			if cfg.DisableWithReturning && !about.MariaDB {
				continue
			}
			e := connect(t, about, cfg)
			use(t, e.DB, gormid.Config{Source: e.source})
			e.testIssues(t)
		}
	})
}

func (e *env) testIssues(t *testing.T) {
	set := func(columns ...string) clause.OnConflict {
		return clause.OnConflict{Columns: byEmail, DoUpdates: clause.AssignmentColumns(columns)}
	}
	for _, c := range []struct {
		name, existing, upserted string
		upsert                   func(ms []*member) error
	}{
		// https://github.com/go-gorm/gorm/issues/4093: some of the rows exist.
		{"4093", "a b c", "c d a e", func(ms []*member) error { return e.Clauses(set("name")).Create(ms).Error }},
		// https://github.com/go-gorm/gorm/issues/6047: CreateInBatches with pointers updates a time.
		{"6047", "a b", "a b", func(ms []*member) error { return e.Clauses(set("updated_at")).CreateInBatches(ms, 100).Error }},
		// https://github.com/go-gorm/gorm/issues/6663: rows that exist alternate with rows that don't.
		{"6663", "a b c", "new1 a new2 b new3 c", func(ms []*member) error {
			var values []member
			for _, m := range ms {
				values = append(values, *m)
			}
			err := e.Clauses(set("name", "updated_at")).Create(&values).Error
			for i, m := range values {
				*ms[i] = m
			}
			return err
		}},
		// https://github.com/go-gorm/gorm/issues/7029: UpdateAll has the same fault. In
		// addition, GORM alone stores memos with the key of another owner.
		{"7029", "a b c", "b new a", func(ms []*member) error {
			return e.Clauses(clause.OnConflict{Columns: byEmail, UpdateAll: true}).Create(ms).Error
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			migrate(t, e.DB, &member{}, &memo{})
			defer e.Migrator().DropTable(&memo{}, &member{})
			must(t, e.Omit("Memos").Create(members(c.existing)))
			ms := members(c.upserted)
			dbtest.NoError(t, c.upsert(ms))
			var want []string
			for _, m := range ms {
				want = append(want, line(m.ID, m.Email, "of", m.Email))
			}
			slices.Sort(want)
			got := e.table(t, "SELECT m.id, m.email, n.text FROM memos n JOIN members m ON n.member_id = m.id")
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("in memory %q, in the tables %q", want, got)
			}
		})
	}

	// https://github.com/go-gorm/gorm/issues/3810: creating the same rows a second time
	// updates them.
	t.Run("3810", func(t *testing.T) {
		migrate(t, e.DB, &metadata{})
		defer e.Migrator().DropTable(&metadata{})
		var want []string
		for range 2 {
			rows := []metadata{{AID: 1, Code: "a", Name: "x"}, {AID: 1, Code: "b", Name: "x"}, {AID: 2, Code: "a", Name: "x"}}
			must(t, e.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "a_id"}, {Name: "code"}}, DoUpdates: setName}).Create(&rows))
			want = nil
			for _, m := range rows {
				want = append(want, line(m.ID, m.AID, m.Code))
			}
		}
		e.wantTable(t, "SELECT id, a_id, code FROM metadata ORDER BY a_id, code", want...)
	})
}

type (
	house struct {
		ID   pk.ID
		Name string `gorm:"size:40"`
	}
	tenant struct {
		ID     pk.ID
		Name   string `gorm:"size:40;uniqueIndex:,composite:name_city"`
		City   string `gorm:"size:40;uniqueIndex:,composite:name_city"`
		Age    int
		Houses []*house `gorm:"many2many:tenant_houses"`
		Cards  []*idCard
	}
	idCard struct {
		ID       string `gorm:"primaryKey;size:20;snowkey"`
		TenantID pk.ID
		Number   string `gorm:"size:40;unique"`
	}
)

// TestGormReports reproduces reports about keys of associated rows, and about upserts in
// batches.
func TestGormReports(t *testing.T) {
	each(t, []any{&house{}, &tenant{}, &idCard{}}, func(t *testing.T, e *env) {
		const joined = "SELECT t.name, h.name FROM tenant_houses th JOIN tenants t ON t.id = th.tenant_id JOIN houses h ON h.id = th.house_id ORDER BY t.name, h.name"
		old := house{Name: "old"}
		must(t, e.Create(&old))
		for _, c := range []struct {
			name string
			try  func() error
			rows string
			want []string
		}{
			// https://github.com/go-gorm/gorm/issues/7019: the house exists, and is named by its key.
			{"7019", func() error { return e.Create(&tenant{Name: "a", Houses: []*house{{ID: old.ID}}}).Error }, joined, []string{"a old"}},
			// https://github.com/go-gorm/gorm/issues/6324: Append must not change the key of a row that exists.
			{"6324", func() error {
				var a tenant
				must(t, e.First(&a, "name = ?", "a"))
				h := house{Name: "new"}
				must(t, e.Create(&h))
				before := h.ID
				err := e.Model(&a).Association("Houses").Append([]*house{&h})
				if h.ID != before {
					t.Errorf("the key %d has become %d", before, h.ID)
				}
				return err
			}, joined, []string{"a new", "a old"}},
			// https://github.com/go-gorm/gorm/issues/3462: Replace with rows that have nothing but a key.
			{"3462", func() error {
				var a tenant
				must(t, e.First(&a, "name = ?", "a"))
				return e.Model(&a).Association("Houses").Replace([]*house{{ID: old.ID}})
			}, "SELECT name FROM houses ORDER BY name", []string{"new", "old"}},
			// https://github.com/go-gorm/gorm/issues/5335: each of several children has its own key.
			{"5335", func() error {
				return e.Create(&tenant{Name: "b", Cards: []*idCard{{Number: "1"}, {Number: "2"}, {Number: "3"}}}).Error
			},
				"SELECT count(DISTINCT c.id) FROM id_cards c JOIN tenants t ON t.id = c.tenant_id WHERE t.name = 'b'", []string{"3"}},
			// https://github.com/go-gorm/gorm/issues/7190: UpdateAll in batches, on a composite unique key.
			{"7190", func() error {
				rows := []tenant{{Name: "c", City: "x", Age: 1}, {Name: "a", Age: 2}, {Name: "b", Age: 3}}
				return e.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}, {Name: "city"}}, UpdateAll: true}).CreateInBatches(&rows, 2).Error
			}, "SELECT name, age FROM tenants ORDER BY name", []string{"a 2", "b 3", "c 1"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				dbtest.NoError(t, c.try())
				e.wantTable(t, c.rows, c.want...)
			})
		}
		// https://github.com/go-gorm/gorm/issues/3296: a child whose unique value is taken ended with the key 0.
		if err := e.Create(&tenant{Name: "d", Cards: []*idCard{{Number: "4"}, {Number: "1"}}}).Error; err == nil {
			t.Error("a child with a taken number was stored")
		}
		e.wantTable(t, "SELECT number FROM id_cards ORDER BY number", "1", "2", "3")
	})
}
