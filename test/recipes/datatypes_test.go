package recipes

import (
	"testing"

	"gorm.io/datatypes"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// The keys in a JSON column are strings, so gorm.io/datatypes finds them as text only.
func TestJSONArrayQuery(t *testing.T) {
	type Team struct {
		ID      pk.ID
		Members datatypes.JSONSlice[pk.ID]
	}
	dbtest.EachServer(t, func(t *testing.T, about dbtest.DB) {
		conn := about.Connect(t)
		dialector := postgres.New(postgres.Config{Conn: conn})
		if about.Dialect == "mysql" {
			dialector = mysql.New(mysql.Config{Conn: conn})
		}
		db := dbtest.Must(gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}))(t)
		dbtest.NoError(t, db.Use(gormid.New(gormid.Config{Source: new(idtest.Source)})))
		dbtest.NoError(t, db.AutoMigrate(&Team{}))
		const id pk.ID = 1<<53 + 1
		created := []Team{{Members: []pk.ID{id - 1}}, {Members: []pk.ID{3, id}}}
		dbtest.NoError(t, db.Create(&created).Error)
		var teams []Team
		err := db.Find(&teams, datatypes.JSONArrayQuery("members").Contains(id.String())).Error
		if err != nil || len(teams) != 1 || teams[0].ID != created[1].ID || teams[0].Members[1] != id {
			t.Errorf("got %v, %v, want %v", teams, err, created[1:])
		}
		err = db.Find(&teams, datatypes.JSONArrayQuery("members").Contains(id)).Error
		if err == nil && len(teams) > 0 {
			t.Errorf("a number finds %v, which docs/gorm.md denies", teams)
		}
	})
}
