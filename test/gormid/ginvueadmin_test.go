package gormid_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These models are like those of gin-vue-admin.
type (
	GVA_MODEL struct {
		ID        uint `gorm:"primarykey" json:"ID"`
		CreatedAt time.Time
		UpdatedAt time.Time
		DeletedAt gorm.DeletedAt `gorm:"index" json:"-"`
	}
	SysUser struct {
		GVA_MODEL
		UUID        string         `json:"uuid" gorm:"size:36;index;comment:用户UUID"`
		Username    string         `json:"userName" gorm:"size:40;index;comment:用户登录名"`
		NickName    string         `json:"nickName" gorm:"size:40;default:系统用户;comment:用户昵称"`
		AuthorityId uint           `json:"authorityId" gorm:"default:888;comment:用户角色ID"`
		Authority   SysAuthority   `json:"authority" gorm:"foreignKey:AuthorityId;references:AuthorityId;comment:用户角色"`
		Authorities []SysAuthority `json:"authorities" gorm:"many2many:sys_user_authority;"`
	}
	SysAuthority struct {
		CreatedAt       time.Time
		UpdatedAt       time.Time
		DeletedAt       *time.Time
		AuthorityId     uint            `json:"authorityId" gorm:"not null;unique;primary_key;comment:角色ID;size:90"`
		AuthorityName   string          `json:"authorityName" gorm:"size:40;comment:角色名"`
		ParentId        *uint           `json:"parentId" gorm:"comment:父角色ID"`
		DataAuthorityId []*SysAuthority `json:"dataAuthorityId" gorm:"many2many:sys_data_authority_id;"`
		Children        []SysAuthority  `json:"children" gorm:"-"`
		Users           []SysUser       `json:"-" gorm:"many2many:sys_user_authority;"`
	}
	SysUserAuthority struct {
		SysUserId               uint `gorm:"column:sys_user_id"`
		SysAuthorityAuthorityId uint `gorm:"column:sys_authority_authority_id"`
	}
)

func (SysUser) TableName() string           { return "sys_users" }
func (SysAuthority) TableName() string      { return "sys_authorities" }
func (*SysUserAuthority) TableName() string { return "sys_user_authority" }

// UsePool installs the plugin. Call it before RegisterTables migrates the models.
func UsePool(db *gorm.DB, pool idgen.Source) error {
	return db.Use(gormid.New(gormid.Config{
		Source:       pool,
		FillIntegers: true,
		Models:       []any{&SysUser{}},
	}))
}

// openGVA opens GORM with the setting that gin-vue-admin uses.
func openGVA(t *testing.T, about dbtest.DB) *env {
	t.Helper()
	e := bare(t, about)
	e.DB.Config.DisableForeignKeyConstraintWhenMigrating = true
	return e
}

// A program like gin-vue-admin moves to generated keys without changing its models,
// both on an empty database and on one that has numbered its rows so far.
func TestGinVueAdmin(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, name := range []string{"empty", "counted"} {
			t.Run(name, func(t *testing.T) { testGinVueAdmin(t, about, name == "counted") })
		}
	})
}

func testGinVueAdmin(t *testing.T, about dbtest.DB, counted bool) {
	models := []any{&SysAuthority{}, &SysUser{}, &SysUserAuthority{}}
	before := openGVA(t, about)
	dbtest.NoError(t, before.Migrator().DropTable("sys_data_authority_id", "sys_user_authority", "sys_users", "sys_authorities"))
	old := SysUser{Username: "old"}
	if counted {
		migrate(t, before.DB, models...)
		must(t, before.Create(&SysAuthority{AuthorityId: 888, AuthorityName: "普通用户"}))
		must(t, before.Create(&old))
		if old.ID != 1 {
			t.Fatalf("the database gave %d", old.ID)
		}
	}

	e := openGVA(t, about)
	dbtest.NoError(t, UsePool(e.DB, e.source))
	for range 2 {
		migrate(t, e.DB, models...)
	}
	if !counted {
		must(t, e.Create(&SysAuthority{AuthorityId: 888, AuthorityName: "普通用户"}))
	}
	role := SysAuthority{AuthorityId: 9528, AuthorityName: "role"}
	must(t, e.Create(&role))
	e.wantTable(t, "SELECT authority_id FROM sys_authorities ORDER BY authority_id", "888", "9528")
	users := []SysUser{
		{Username: "ada", AuthorityId: 888, Authorities: []SysAuthority{{AuthorityId: 888}, {AuthorityId: role.AuthorityId}}},
		{Username: "bob", AuthorityId: role.AuthorityId, Authorities: []SysAuthority{{AuthorityId: role.AuthorityId}}},
	}
	must(t, e.Create(&users))
	ada, bob := users[0], users[1]
	if uint64(ada.ID) < 1<<53 || bob.ID != ada.ID+1 {
		t.Errorf("keys are %d, %d", ada.ID, bob.ID)
	}
	want := []string{line(ada.ID, "ada", 888), line(bob.ID, "bob", role.AuthorityId)}
	if counted {
		want = append([]string{line(1, "old", 888)}, want...)
	}
	e.wantTable(t, "SELECT id, username, authority_id FROM sys_users ORDER BY id", want...)
	e.wantTable(t, "SELECT sys_user_id, sys_authority_authority_id FROM sys_user_authority ORDER BY sys_user_id, sys_authority_authority_id",
		line(ada.ID, 888), line(ada.ID, role.AuthorityId), line(bob.ID, role.AuthorityId))

}

// A GetById is a request for a single row. It accepts both "5" and 5.
type GetById struct {
	ID pk.ID `json:"id" form:"id"`
}

// A UserResponse hides the ID of its model behind one that is text.
type UserResponse struct {
	SysUser
	ID pk.ID `json:"ID"`
}

// JavaScript rounds the ids of a model that are above 2^53, unless they are text.
func TestGinVueAdminJSON(t *testing.T) {
	js := func(v any) any {
		text := dbtest.Must(json.Marshal(v))(t)
		var object map[string]any
		dbtest.NoError(t, json.Unmarshal(text, &object))
		return object["ID"]
	}
	large := int64(1<<60 + 1)
	user := SysUser{GVA_MODEL: GVA_MODEL{ID: uint(large)}}
	if got := js(user); got == nil || uint(got.(float64)) == user.ID {
		t.Errorf("JavaScript reads %v", got)
	}
	if got := js(UserResponse{user, pk.ID(user.ID)}); got != "1152921504606846977" {
		t.Errorf("JavaScript reads %v", got)
	}
	for _, text := range []string{`{"id":1152921504606846977}`, `{"id":"1152921504606846977"}`} {
		var request GetById
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&request); err != nil || request.ID != 1<<60+1 {
			t.Errorf("%s: %v, %v", text, request, err)
		}
	}
}

// Since GORM takes the number of a role for a foreign key to the users, the caller has
// to set it.
func TestGinVueAdminRoles(t *testing.T) {
	e := openGVA(t, dbtest.SQLite(t))
	err := e.Use(gormid.New(gormid.Config{Source: e.source, FillIntegers: true, Models: []any{&SysUser{}, &SysAuthority{}}}))
	idtest.WantFieldError(t, err, "AuthorityId", "is also a foreign key")
}
