package gormid_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
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
	migrate(t, e.DB, &company{}, &author{}, &profile{}, &book{}, &chapter{}, &prize{}, &circle{}, &membership{}, &note{})
	return e
}

// A familyWay is a way to create rows together with another row, or after it.
type familyWay struct {
	name   string
	create func(e *env) (*gorm.DB, []*author)
}

var familyWays = []familyWay{
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
		tx := e.Select("Name", "Company", "CompanyID", "Books").Create(&a)
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
					"notes", "prizes", "circles", "authors", "companies")
				tx, authors := way.create(e)
				if tx.Error != nil {
					t.Fatal(tx.Error)
				}
				e.wantAuthors(t, authors...)
			})
		}
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

// openSailors opens a schema that has no foreign keys, in which some unique values are taken.
func openSailors(t *testing.T, about dbtest.DB) *env {
	t.Helper()
	e := bare(t, about)
	e.DisableForeignKeyConstraintWhenMigrating = true
	use(t, e.DB, gormid.Config{Source: e.source})
	dbtest.NoError(t, e.SetupJoinTable(&sailor{}, "Ports", &visit{}))
	migrate(t, e.DB, &crew{}, &port{}, &skill{}, &sailor{}, &boat{}, &visit{})
	first := sailor{Name: "first", Crew: &crew{Name: "taken"}, Boat: &boat{Sign: "taken"}, Ports: []port{{Name: "taken"}, {Name: "other"}},
		Skills: []skill{{Name: "taken", Code: new("t")}, {Name: "other", Code: new("o")}, {Name: "deleted"}}}
	must(t, e.Create(&first))
	must(t, e.Delete(&first.Skills[2]))
	return e
}

// TestLeftOut: GORM inserts associated rows with DoNothing. If such a row is left out because
// of its unique name, other rows must refer to the row in the table.
func TestLeftOut(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := openSailors(t, about)
		for _, c := range []struct {
			name   string
			create func() error
			want   []string // the new sailors with their associations
		}{
			{"belongs to", func() error {
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
				e.wipe(t, "sailor_skills", "visits")
				must(t, e.Where("name <> ?", "first").Delete(&sailor{}))
				must(t, e.Where("name = ?", "new").Delete(&port{}))
				must(t, e.Unscoped().Where("name = ?", "new").Delete(&skill{}))
				must(t, e.Where("name = ?", "new").Delete(&crew{}))
			})
		}

		// The plugin must ignore associations that aren't saved.
		must(t, e.Omit("Crew").Create(&sailor{Name: "a", Crew: &crew{Name: "taken"}}))
		must(t, e.Omit("Boat").Clauses(doNothing).Create(&sailor{Name: "first", Boat: &boat{}}))
		must(t, e.Clauses(doNothing).Create(&sailor{Name: "first"}))
	})
}

// No row may refer to one that was left out as 0.
func TestLeftOutIsRefused(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := openSailors(t, about)
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
	})
}

type (
	article struct {
		ID     pk.ID
		Topics []topic `gorm:"many2many:article_topics"`
		Places []place `gorm:"many2many:article_places"`
	}
	topic struct {
		ID   pk.ID
		Name string `gorm:"size:40;unique"`
	}
	place struct {
		ID   pk.ID
		Name string `gorm:"size:40;unique"`
	}
	// The database counts the rows of this join table.
	articleTopic struct {
		ID                 uint
		ArticleID, TopicID pk.ID
	}
	// This join table has no key.
	articlePlace struct{ ArticleID, PlaceID pk.ID }
)

// No row of a join table may have the key 0, even if the plugin has no key to fill in it.
func TestJoinTablesOfOthers(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about)
		e.DisableForeignKeyConstraintWhenMigrating = true
		use(t, e.DB, gormid.Config{Source: e.source})
		dbtest.NoError(t, e.SetupJoinTable(&article{}, "Topics", &articleTopic{}))
		dbtest.NoError(t, e.SetupJoinTable(&article{}, "Places", &articlePlace{}))
		migrate(t, e.DB, &article{}, &topic{}, &place{}, &articleTopic{}, &articlePlace{})
		must(t, e.Create(&[]topic{{Name: "a"}, {Name: "b"}}))
		must(t, e.Create(&[]place{{Name: "a"}, {Name: "b"}}))
		must(t, e.Create(&article{Topics: []topic{{Name: "c"}, {Name: "b"}}, Places: []place{{Name: "b"}, {Name: "c"}}}))
		idtest.WantRowError(t, e.Omit("Topics.*").Create(&article{Topics: []topic{{Name: "d"}}}).Error, 0, "refers to a gormid_test.topic in TopicID that has no key")
		idtest.WantRowError(t, e.Omit("Places.*").Create(&article{Places: []place{{Name: "d"}}}).Error, 0, "refers to a gormid_test.place in PlaceID that has no key")
		e.wantTable(t, "SELECT t.name FROM article_topics j LEFT JOIN topics t ON t.id = j.topic_id ORDER BY 1", "b", "c")
		e.wantTable(t, "SELECT p.name FROM article_places j LEFT JOIN places p ON p.id = j.place_id ORDER BY 1", "b", "c")
		e.wantTable(t, "SELECT count(*) FROM articles", "1")
	})
}
