package gormid_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These models have the keys and relations of those of gin-vue-admin.
type (
	GVA_MODEL struct {
		ID        uint `gorm:"primarykey" json:"ID"`
		CreatedAt time.Time
		UpdatedAt time.Time
		DeletedAt gorm.DeletedAt `gorm:"index" json:"-"`
	}
	SysUser struct {
		GVA_MODEL
		Username    string         `json:"userName" gorm:"size:40;index;comment:用户登录名"`
		AuthorityId uint           `json:"authorityId" gorm:"default:888;comment:用户角色ID"`
		Authority   SysAuthority   `json:"authority" gorm:"foreignKey:AuthorityId;references:AuthorityId;comment:用户角色"`
		Authorities []SysAuthority `json:"authorities" gorm:"many2many:sys_user_authority;"`
	}
	SysAuthority struct {
		AuthorityId     uint            `json:"authorityId" gorm:"not null;unique;primary_key;comment:角色ID;size:90"`
		DataAuthorityId []*SysAuthority `json:"dataAuthorityId" gorm:"many2many:sys_data_authority_id;"`
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

// A program like gin-vue-admin, whose database has numbered the rows so far, moves to
// generated keys without changing its models.
func TestGinVueAdmin(t *testing.T) {
	models := []any{&SysAuthority{}, &SysUser{}, &SysUserAuthority{}}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		before, e := bare(t, about), bare(t, about)
		before.DisableForeignKeyConstraintWhenMigrating, e.DisableForeignKeyConstraintWhenMigrating = true, true
		migrate(t, before.DB, models...)
		must(t, before.Create(&SysAuthority{AuthorityId: 888}))
		old := SysUser{Username: "old"}
		must(t, before.Create(&old))
		if old.ID != 1 {
			t.Fatalf("the database gave %d", old.ID)
		}
		// Since GORM takes the number of a role for a foreign key to the users, the caller has
		// to set it.
		err := before.Use(gormid.New(gormid.Config{FillIntegers: true, Models: []any{&SysUser{}, &SysAuthority{}}}))
		idtest.WantFieldError(t, err, "AuthorityId", "is also a foreign key")

		use(t, e.DB, gormid.Config{Source: e.source, FillIntegers: true, Models: []any{&SysUser{}}})
		migrate(t, e.DB, models...)
		role := SysAuthority{AuthorityId: 9528}
		must(t, e.Create(&role))
		e.wantTable(t, "SELECT authority_id FROM sys_authorities ORDER BY authority_id", "888", "9528")
		users := []SysUser{
			{Username: "ada", AuthorityId: 888, Authorities: []SysAuthority{{AuthorityId: 888}, {AuthorityId: role.AuthorityId}}},
			{Username: "bob", AuthorityId: role.AuthorityId, Authorities: []SysAuthority{{AuthorityId: role.AuthorityId}}},
		}
		must(t, e.Create(&users))
		ada, bob := users[0].ID, users[1].ID
		if uint64(ada) < idtest.First || bob != ada+1 {
			t.Errorf("keys are %d, %d", ada, bob)
		}
		e.wantTable(t, "SELECT id, username, authority_id FROM sys_users ORDER BY id", line(1, "old", 888), line(ada, "ada", 888), line(bob, "bob", 9528))
		e.wantTable(t, "SELECT sys_user_id, sys_authority_authority_id FROM sys_user_authority ORDER BY 1, 2", line(ada, 888), line(ada, 9528), line(bob, 9528))
	})
}

// A GetById is a request for a single row. It accepts both "5" and 5.
type GetById struct {
	ID pk.ID `json:"id" form:"id"`
}

// A UserResponse hides the ID of its model behind one that is text, because JavaScript rounds
// numbers above 2^53.
type UserResponse struct {
	SysUser
	ID pk.ID `json:"ID"`
}

func TestGinVueAdminJSON(t *testing.T) {
	text := dbtest.Must(json.Marshal(UserResponse{ID: 1<<60 + 1}))(t)
	if !strings.Contains(string(text), `"ID":"1152921504606846977"`) {
		t.Errorf("the response is %s", text)
	}
	for _, text := range []string{`{"id":1152921504606846977}`, `{"id":"1152921504606846977"}`} {
		var request GetById
		if err := json.Unmarshal([]byte(text), &request); err != nil || request.ID != 1<<60+1 {
			t.Errorf("%s: %v, %v", text, request, err)
		}
	}
}
