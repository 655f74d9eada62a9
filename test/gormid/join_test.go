package gormid_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

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
