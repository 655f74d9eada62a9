//go:build clients

package entid_test

import (
	"strings"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/keys"
)

// The descriptor must equal that of ent's own field in everything that the schema
// doesn't set.
func TestField(t *testing.T) {
	d := entid.Field[pk.ID]{
		Name: "owner_id", Optional: true, Nillable: true, Unique: true, Immutable: true,
		StorageKey: "owner", StructTag: `json:"owner"`, Comment: "who", Annotations: []schema.Annotation{entsql.Skip()},
	}.Descriptor()
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	if d.Name != "owner_id" || !d.Optional || !d.Nillable || !d.Unique || !d.Immutable ||
		d.StorageKey != "owner" || d.Tag != `json:"owner"` || d.Comment != "who" || len(d.Annotations) != 1 {
		t.Errorf("the descriptor has lost something: %+v", d)
	}
	if d.Info.Type != field.TypeOther || d.Info.Ident != "pk.ID" || !d.Info.ValueScanner() {
		t.Errorf("the type is %+v", d.Info)
	}
}

func TestColumnOfEachKey(t *testing.T) {
	for want, f := range map[string]ent.Field{
		"pk.ID bigint":         entid.Field[pk.ID]{Name: "id"},
		"pk.String bigint":     entid.Field[pk.String]{Name: "id"},
		"pk.Text varchar(20)":  entid.Field[pk.Text]{Name: "id"},
		"pk.SortText char(13)": entid.Field[pk.SortText]{Name: "id"},
		"keys.CardID bigint":   entid.Field[keys.CardID]{Name: "id"},
		"keys.EventRef bigint": entid.Field[keys.EventRef]{Name: "id", Alias: "EventRef"},
	} {
		d := f.Descriptor()
		for _, dialect := range dialects {
			if got := d.Info.Ident + " " + d.SchemaType[dialect]; got != want || d.Err != nil {
				t.Errorf("%s: got %s, %v; want %s", dialect, got, d.Err, want)
			}
		}
	}
}

// If the generated code can't name a typed key, generating it must fail.
func TestUnnameableKey(t *testing.T) {
	type local struct{}
	for name, f := range map[string]ent.Field{
		"a local type": entid.Field[pk.Of[local]]{Name: "id"},
		"a basic type": entid.Field[pk.Of[int]]{Name: "id"},
		"a pointer":    entid.Field[pk.Of[*keys.Card]]{Name: "id"},
		"a slice":      entid.Field[pk.Of[[]keys.Card]]{Name: "id"},
		"a generic":    entid.Field[pk.Of[pk.Of[keys.Card]]]{Name: "id"},
		"a struct":     entid.Field[pk.Of[struct{ X int }]]{Name: "id"},
	} {
		if err := f.Descriptor().Err; err == nil || !strings.Contains(err.Error(), "type UserID = pk.Of[User]") {
			t.Errorf("%s: got %v, want the way out", name, err)
		}
	}
}

// With some JSON libraries, a key with the option string has its quotes twice, so generating it
// must fail.
func TestQuotedKey(t *testing.T) {
	err := entid.For[pk.ID]{StructTag: `json:"id,string"`}.Fields()[0].Descriptor().Err
	if err == nil || !strings.Contains(err.Error(), "remove the option") {
		t.Errorf("got %v, want an error with the remedy", err)
	}
}
