package gormid

import (
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// counts returns the key of a model if GORM leaves it to the database even though the plugin
// could fill it, and nil otherwise. It also returns nil if Config.Counting shows that this is
// intended, or the tag autoIncrement of a model that Config.Models doesn't list.
func (f *filler) counts(s *schema.Schema) *schema.Field {
	key := s.PrioritizedPrimaryField
	if key == nil || len(s.PrimaryFields) != 1 || !key.AutoIncrement || !keytype.Holds(key.IndirectFieldType) ||
		includes(f.counting, s) || isForeignKey(s, key) {
		return nil
	}
	_, told := key.TagSettings["AUTOINCREMENT"]
	_, tagged := key.TagSettings[tag]
	if told && !includes(f.listed, s) || tagged {
		return nil
	}
	return key
}

// includes reports whether one of the schemas is of the same model as s.
func includes(schemas []*schema.Schema, s *schema.Schema) bool {
	return slices.ContainsFunc(schemas, func(other *schema.Schema) bool { return other.ModelType == s.ModelType })
}

// adopt makes the plugin fill the integer keys of a model, and of the models to which
// it refers, as if they had the tags snowkey and autoIncrement:false. AutoMigrate then
// creates their columns without auto-increment, except on SQLite, where an integer primary
// key counts.
func (f *filler) adopt(s *schema.Schema) {
	adopt := func(s *schema.Schema) {
		if key := f.counts(s); key != nil {
			key.TagSettings[tag] = tag
			delete(key.TagSettings, "AUTOINCREMENT")
			key.AutoIncrement, key.HasDefaultValue = false, false
			s.FieldsWithDefaultDBValue = slices.DeleteFunc(s.FieldsWithDefaultDBValue, func(f *schema.Field) bool { return f == key })
		}
	}
	adopt(s)
	for _, ref := range referencesOf(s) {
		if ref.PrimaryKey != nil {
			adopt(ref.PrimaryKey.Schema)
		}
	}
}

// warn logs that the plugin could fill a model's key but doesn't.
func (f *filler) warn(db *gorm.DB, s *schema.Schema) {
	if key := f.counts(s); key != nil {
		db.Logger.Warn(db.Statement.Context, fmt.Sprintf("gormid: %s.%s (%s) is not filled: the database goes on numbering its rows. "+
			"Declare it as pk.ID or embed gormid.Model, set Config.FillIntegers, or list the model in Config.Counting.", modelName(s), key.Name, key.FieldType))
	}
}
