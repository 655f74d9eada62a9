package gormid_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

type (
	// A member's address is unique on its site.
	member struct {
		ID    pk.ID
		Site  int    `gorm:"uniqueIndex:,composite:site_email"`
		Email string `gorm:"size:40;uniqueIndex:,composite:site_email"`
		Name  string `gorm:"size:40;index"`
		Memos []memo
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
		ms = append(ms, &member{Site: 1, Email: email, Name: "new " + email, Memos: []memo{{Text: "of " + email}}})
	}
	return ms
}

// TestUpsertOfOwners: after a bulk upsert of rows that own others, memory must equal the table,
// and the owned rows must refer to their owners. With GORM alone, they have the keys of other
// rows (issues 3810, 4093, 6047, 6663, 7029 and 7190). On MySQL, it gets one key from
// LAST_INSERT_ID and counts up from there, even though rows that are updated either take no
// number or leave a gap. Without RETURNING, MariaDB behaves like MySQL.
func TestUpsertOfOwners(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, cfg := range []mysql.Config{{}, {DisableWithReturning: true}} {
			if cfg.DisableWithReturning && !about.MariaDB {
				continue
			}
			e := connect(t, about, cfg, &member{}, &memo{})
			use(t, e.DB, gormid.Config{Source: e.source})
			e.testOwners(t)
		}
	})
}

func (e *env) testOwners(t *testing.T) {
	unique := []clause.Column{{Name: "site"}, {Name: "email"}}
	for name, upsert := range map[string]func(ms []*member) *gorm.DB{
		"some columns": func(ms []*member) *gorm.DB {
			return e.Clauses(clause.OnConflict{Columns: unique, DoUpdates: setName}).Create(ms)
		},
		"UpdateAll in batches": func(ms []*member) *gorm.DB {
			return e.Clauses(clause.OnConflict{Columns: unique, UpdateAll: true}).CreateInBatches(ms, 2)
		},
	} {
		for _, emails := range []string{"a b", "c d a e", "new1 a new2 b new3 c"} {
			e.wipe(t, "memos", "members")
			must(t, e.Omit("Memos").Create(append(members("a b c"), &member{Site: 2, Email: "a"})))
			ms := members(emails)
			must(t, upsert(ms))
			var want []string
			for _, m := range ms {
				want = append(want, line(m.ID, m.Email, "of", m.Email))
			}
			slices.Sort(want)
			got := e.table(t, "SELECT m.id, m.email, n.text FROM memos n JOIN members m ON n.member_id = m.id AND m.site = 1")
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s of %q: in memory %q, in the tables %q", name, emails, want, got)
			}
		}
	}
}
