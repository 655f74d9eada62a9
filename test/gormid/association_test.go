package gormid_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// An author has one association of each kind.
type author struct {
	ID        pk.ID
	Name      string
	CompanyID *pk.ID
	Company   *company
	Profile   profile
	Books     []book
	Prizes    []*prize `gorm:"many2many:author_prizes"`
	Circles   []circle `gorm:"many2many:memberships"`
	Friends   []author `gorm:"many2many:author_friends"`
	Badge     badge    `gorm:"polymorphic:Owner"`
	Notes     []note   `gorm:"polymorphic:Owner"`
}

type company struct {
	ID   pk.Of[company]
	Name string
}

type profile struct {
	ID       pk.ID
	AuthorID pk.ID
	Name     string
}

type book struct {
	ID       int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	AuthorID pk.ID
	Name     string
	Chapters []chapter
}

type chapter struct {
	ID     string `gorm:"primaryKey;size:20;snowkey"`
	BookID int64
	Name   string
}

type prize struct {
	ID   pk.SortText
	Name string
}

type circle struct {
	ID   pk.ID
	Name string
}

// A membership is a row of a join table, and has its own key.
type membership struct {
	ID       pk.ID
	AuthorID pk.ID `gorm:"uniqueIndex:idx_membership"`
	CircleID pk.ID `gorm:"uniqueIndex:idx_membership"`
	Level    int   `gorm:"default:1"`
}

type badge struct {
	ID        pk.ID
	OwnerID   pk.ID
	OwnerType string
	Name      string
}

type note struct {
	ID        uint64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	OwnerID   pk.ID
	OwnerType string
	Name      string
}

// family returns an author that has rows in every association. All of them have names
// derived from name, so that we can compare the tables with memory.
func family(name string) author {
	return author{
		Name:    name,
		Company: &company{Name: name + " company"},
		Profile: profile{Name: name + " profile"},
		Books: []book{
			{Name: name + " book 1", Chapters: []chapter{{Name: name + " chapter 1"}, {Name: name + " chapter 2"}}},
			{Name: name + " book 2"},
		},
		Prizes:  []*prize{{Name: name + " prize 1"}, {Name: name + " prize 2"}},
		Circles: []circle{{Name: name + " circle 1"}, {Name: name + " circle 2"}},
		Friends: []author{{Name: name + " friend"}},
		Badge:   badge{Name: name + " badge"},
		Notes:   []note{{Name: name + " note 1"}, {Name: name + " note 2"}},
	}
}

// wantAuthors compares every table with the authors in memory.
func (e *env) wantAuthors(t *testing.T, authors ...*author) {
	t.Helper()
	queries := []string{
		"SELECT id, name, company_id FROM authors",
		"SELECT id, name FROM companies",
		"SELECT id, author_id, name FROM profiles",
		"SELECT id, author_id, name FROM books",
		"SELECT id, book_id, name FROM chapters",
		"SELECT id, name FROM prizes",
		"SELECT author_id, prize_id FROM author_prizes",
		"SELECT id, name FROM circles",
		"SELECT author_id, circle_id FROM memberships",
		"SELECT author_id, friend_id FROM author_friends",
		"SELECT id, owner_id, owner_type, name FROM badges",
		"SELECT id, owner_id, owner_type, name FROM notes",
	}
	want := make([][]string, len(queries))
	add := func(query string, values ...any) {
		i := slices.IndexFunc(queries, func(q string) bool { return strings.HasSuffix(q, " FROM "+query) })
		want[i] = append(want[i], line(values...))
	}
	var visit func(a *author)
	visit = func(a *author) {
		var companyID any = "NULL"
		if a.CompanyID != nil {
			companyID = *a.CompanyID
		}
		add("authors", a.ID, a.Name, companyID)
		if a.Company != nil {
			if a.Company.ID.Int64() != a.CompanyID.Int64() {
				t.Errorf("the company of %s is %d in one place and %d in another", a.Name, a.Company.ID, a.CompanyID)
			}
			add("companies", a.Company.ID, a.Company.Name)
		}
		if a.Profile != (profile{}) {
			add("profiles", a.Profile.ID, a.ID, a.Profile.Name)
		}
		for _, b := range a.Books {
			add("books", b.ID, a.ID, b.Name)
			for _, c := range b.Chapters {
				add("chapters", c.ID, b.ID, c.Name)
			}
		}
		for _, p := range a.Prizes {
			add("prizes", p.ID, p.Name)
			add("author_prizes", a.ID, p.ID)
		}
		for _, c := range a.Circles {
			add("circles", c.ID, c.Name)
			add("memberships", a.ID, c.ID)
		}
		for i := range a.Friends {
			add("author_friends", a.ID, a.Friends[i].ID)
			visit(&a.Friends[i])
		}
		if a.Badge != (badge{}) {
			add("badges", a.Badge.ID, a.ID, "authors", a.Badge.Name)
		}
		for _, n := range a.Notes {
			add("notes", n.ID, a.ID, "authors", n.Name)
		}
	}
	for _, a := range authors {
		visit(a)
	}
	for i, query := range queries {
		got := e.table(t, query)
		slices.Sort(got)
		slices.Sort(want[i])
		if !slices.Equal(got, slices.Compact(want[i])) {
			t.Errorf("%s\n got %q\nwant %q", query, got, want[i])
		}
	}
	// The keys of memberships aren't in any struct, but the table wouldn't accept
	// duplicates.
	for _, key := range e.table(t, "SELECT id FROM memberships WHERE id IS NULL OR id < 1000") {
		t.Errorf("a membership has the key %s", key)
	}
}

func openAuthors(t *testing.T, about dbtest.DB) *env {
	t.Helper()
	e := open(t, about)
	dbtest.NoError(t, e.SetupJoinTable(&author{}, "Circles", &membership{}))
	migrate(t, e.DB, &company{}, &author{}, &profile{}, &book{}, &chapter{}, &prize{}, &circle{}, &membership{}, &badge{}, &note{})
	return e
}

// A familyWay is a way to create rows together with another row, or after it.
type familyWay struct {
	name   string
	create func(e *env) (*gorm.DB, []*author)
}

var familyWays = []familyWay{
	{"struct", func(e *env) (*gorm.DB, []*author) {
		a := family("a")
		return e.Create(&a), []*author{&a}
	}},
	{"slice of pointers with shared rows", func(e *env) (*gorm.DB, []*author) {
		a, b := family("a"), family("b")
		b.Company, b.Prizes = a.Company, append(b.Prizes, a.Prizes[0])
		return e.Create([]*author{&a, &b}), []*author{&a, &b}
	}},
	{"given keys", func(e *env) (*gorm.DB, []*author) {
		a, b := family("a"), family("b")
		a.ID, b.ID = idA, idB
		a.Company.ID, b.Company.ID = idA, idB
		a.Profile.ID, b.Profile.ID = idA, idB
		a.Books[0].ID, a.Books[1].ID = idA, idB
		a.Books[0].Chapters[0].ID = fmt.Sprint(int64(idA))
		a.Prizes[0].ID, a.Prizes[1].ID = idA, idB
		a.Notes[0].ID = idA
		tx := e.Create([]*author{&a, &b})
		if a.ID != idA || b.ID != idB || a.Company.ID != idA || a.Books[0].ID != idA || a.Books[1].ID != idB || a.Prizes[1].ID != idB {
			tx.AddError(fmt.Errorf("a given key was changed: %+v %+v", a, b))
		}
		return tx, []*author{&a, &b}
	}},
	{"batches", func(e *env) (*gorm.DB, []*author) {
		as := []author{family("a"), family("b"), family("c")}
		return e.CreateInBatches(&as, 2), []*author{&as[0], &as[1], &as[2]}
	}},
	{"Save", func(e *env) (*gorm.DB, []*author) {
		a := family("a")
		tx := e.Save(&a)
		a.Books = append(a.Books, book{Name: "later"})
		a.Notes = append(a.Notes, note{Name: "later"})
		tx.AddError(e.Save(&a).Error)
		return tx, []*author{&a}
	}},
	{"FullSaveAssociations", func(e *env) (*gorm.DB, []*author) {
		as := []author{family("a"), family("b")}
		return e.Session(&gorm.Session{FullSaveAssociations: true}).Create(&as), []*author{&as[0], &as[1]}
	}},
	{"Select", func(e *env) (*gorm.DB, []*author) {
		a := family("a")
		tx := e.Select("Name", "Company", "CompanyID", "Books", "Badge").Create(&a)
		a.Profile, a.Prizes, a.Circles, a.Friends, a.Notes = profile{}, nil, nil, nil, nil
		for i := range a.Books {
			a.Books[i].Chapters = nil // with this way, GORM saves associations one level deep only
		}
		return tx, []*author{&a}
	}},
	{"Select of nested columns", func(e *env) (*gorm.DB, []*author) {
		a := family("a")
		tx := e.Select("Name", "Profile.Name", "Profile.AuthorID", "Profile").Create(&a)
		return tx, []*author{{ID: a.ID, Name: a.Name, Profile: a.Profile}}
	}},
	{"Omit", func(e *env) (*gorm.DB, []*author) {
		a := family("a")
		tx := e.Omit("Prizes", "Circles", "Friends", "Books.Chapters").Create(&a)
		a.Prizes, a.Circles, a.Friends, a.Books[0].Chapters = nil, nil, nil, nil
		return tx, []*author{&a}
	}},
	{"Append", func(e *env) (*gorm.DB, []*author) {
		a, f := author{Name: "a"}, family("f")
		f.Books[0].Chapters = nil // Append doesn't save the associations of what it appends
		tx := e.Create(&a)
		for _, err := range []error{
			e.Model(&a).Association("Company").Append(f.Company),
			e.Model(&a).Association("Profile").Append(&f.Profile),
			e.Model(&a).Association("Books").Append(&f.Books[0], &f.Books[1]),
			e.Model(&a).Association("Prizes").Append(f.Prizes),
			e.Model(&a).Association("Circles").Append(&f.Circles),
			e.Model(&a).Association("Friends").Append(&f.Friends[0]),
			e.Model(&a).Association("Badge").Replace(&f.Badge),
			e.Model(&a).Association("Notes").Replace(f.Notes),
		} {
			tx.AddError(err)
		}
		for i, b := range a.Books {
			if b.ID != f.Books[i].ID {
				tx.AddError(fmt.Errorf("book %d is %d in the association and %d in the argument", i, b.ID, f.Books[i].ID))
			}
		}
		return tx, []*author{&a}
	}},
}

// TestAssociations: each row must have its own key, and refer to other rows by their
// keys.
func TestAssociations(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := openAuthors(t, about)
		for _, way := range familyWays {
			t.Run(way.name, func(t *testing.T) {
				e.wipe(t, "memberships", "author_prizes", "author_friends", "chapters", "books", "profiles",
					"badges", "notes", "prizes", "circles", "authors", "companies")
				tx, authors := way.create(e)
				if tx.Error != nil {
					t.Fatal(tx.Error)
				}
				e.wantAuthors(t, authors...)
			})
		}
	})
}
