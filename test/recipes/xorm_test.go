package recipes

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	"xorm.io/xorm"
	"xorm.io/xorm/core"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	ID   pk.ID `xorm:"pk 'id'"`
	Name string
}

// Insert fills the keys of a row, or of a slice, and inserts.
func Insert(ctx context.Context, s *xorm.Session, keys *sqlid.Filler, rows any) error {
	if err := keys.Fill(ctx, rows); err != nil {
		return err
	}
	_, err := s.Context(ctx).Insert(rows)
	return err
}

func (User) TableName() string { return "users" }

var errBroken = errors.New("no ids")

func TestXorm(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		driver, dsn := "sqlite", "file:x"
		switch about.Dialect {
		case "postgres":
			driver, dsn = "pgx", "postgres://u@localhost/x"
		case "mysql":
			driver, dsn = "mysql", "u@tcp(localhost)/x"
		}
		engine, err := xorm.NewEngineWithDB(driver, dsn, core.FromDB(about.Connect(t)))
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Sync(new(User)); err != nil {
			t.Fatal(err)
		}
		ctx, keys := t.Context(), sqlid.New(new(idtest.Source))
		stored := func(rows ...User) {
			t.Helper()
			for _, row := range rows {
				var got User
				if ok, err := engine.Where("id = ?", row.ID).Get(&got); err != nil || !ok || got != row || row.ID.IsZero() {
					t.Errorf("stored %+v, %v, %v, want %+v", got, ok, err, row)
				}
			}
		}

		one := User{Name: "one"}
		if err := Insert(ctx, engine.NewSession(), keys, &one); err != nil {
			t.Fatal(err)
		}
		rows := []User{{Name: "a"}, {ID: 1234567890123456789, Name: "preset"}, {Name: "b"}}
		if err := Insert(ctx, engine.NewSession(), keys, rows); err != nil {
			t.Fatal(err)
		}
		stored(append(rows, one)...)
		if rows[0].ID >= rows[2].ID || rows[1].ID != 1234567890123456789 {
			t.Errorf("keys are %v", rows)
		}

		// After a rollback the row keeps its key.
		again := User{Name: "again"}
		s := engine.NewSession()
		defer s.Close()
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := Insert(ctx, s, keys, &again); err != nil {
			t.Fatal(err)
		}
		key := again.ID
		if err := s.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := Insert(ctx, engine.NewSession(), keys, &again); err != nil || again.ID != key {
			t.Errorf("again: %v, %v, want %v", again.ID, err, key)
		}
		stored(again)

		before, _ := engine.Count(new(User))
		if err := Insert(ctx, engine.NewSession(), sqlid.New(&idtest.Source{Err: errBroken}), &User{Name: "c"}); !errors.Is(err, errBroken) {
			t.Errorf("error is %v", err)
		}
		if after, _ := engine.Count(new(User)); after != before {
			t.Errorf("%d rows after an error, %d before", after, before)
		}
	})
}

// The section of docs/sql.md on xorm shows code of these tests.
func TestPageShowsTheTests(t *testing.T) {
	code, err := os.ReadFile("xorm_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## xorm\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("the page shows no code")
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```\n")
		if !strings.Contains(string(code), block) {
			t.Errorf("the page shows code that no test has:\n%s", block)
		}
	}
}
