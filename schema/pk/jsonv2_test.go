//go:build go1.27

package pk_test

import (
	"encoding/json/v2"
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestJSONv2 tests the key types with encoding/json/v2. From this Go version on, the
// other tests already exercise the new implementation through the old API.
func TestJSONv2(t *testing.T) {
	type row struct {
		ID     pk.ID           `json:"id"`
		Short  pk.SortText     `json:"short"`
		Author *pk.Of[user]    `json:"author"`
		Zero   pk.ID           `json:"zero,omitzero"`
		Likes  map[pk.Text]int `json:"likes"`
	}
	in := row{ID: low, Short: high, Likes: map[pk.Text]int{high: 1}}
	text, err := json.Marshal(in)
	want := `{"id":"1234567890123456788","short":"128GGYHYYK08N","author":null,"likes":{"1234567890123456789":1}}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal = %s, %v, want %s", text, err, want)
	}
	out := row{Author: new(pk.Of[user](7))}
	if err := json.Unmarshal(text, &out); err != nil || out.ID != in.ID || out.Short != in.Short || out.Author != nil || out.Likes[high] != 1 {
		t.Errorf("Unmarshal = %+v, %v", out, err)
	}
	for _, bad := range []string{`{"id":1.5}`, `{"id":1e3}`, `{"id":""}`, `{"id":"007"}`, `{"id":true}`, `{"id":{}}`, `{"likes":{"+5":1}}`} {
		mustRefuse(t, "Unmarshal of "+bad, json.Unmarshal([]byte(bad), &out))
	}
}
