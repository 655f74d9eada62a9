package entid_test

import (
	"reflect"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/mixin"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// ent reads the descriptor of a field more than once, and AnnotateFields changes it in
// between.
func TestAnnotateFields(t *testing.T) {
	for name, m := range map[string]ent.Mixin{
		"Mixin": entid.Mixin{},
		"For":   entid.For[pk.SortText]{StorageKey: "uid", StructTag: `json:"uid"`},
	} {
		t.Run(name, func(t *testing.T) {
			comment := entsql.WithComments(true)
			for _, f := range mixin.AnnotateFields(m, comment).Fields() {
				d := f.Descriptor()
				if len(d.Annotations) != 1 || !reflect.DeepEqual(d.Annotations[0], comment) {
					t.Errorf("%s has the annotations %v", d.Name, d.Annotations)
				}
				if name == "For" && (d.StorageKey != "uid" || d.Tag != `json:"uid"`) {
					t.Errorf("the column is %q, the tag %q", d.StorageKey, d.Tag)
				}
			}
			// The mixin itself has no annotation after that.
			if d := m.Fields()[0].Descriptor(); len(d.Annotations) != 0 {
				t.Errorf("the annotations stay: %v", d.Annotations)
			}
		})
	}
}
