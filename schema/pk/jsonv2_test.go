//go:build goexperiment.jsonv2 && go1.27

package pk_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestJSONv2 tests the key types with encoding/json/v2. In this build, the other tests
// already exercise the new implementation through the old API.
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

// TestJSONv2Methods tests that each type writes and accepts the same with the methods of
// both packages, and that those of v2 don't allocate.
func TestJSONv2Methods(t *testing.T) {
	t.Run("ID", testJSONv2[pk.ID, *pk.ID](low, -high))
	t.Run("Of", testJSONv2[pk.Of[user], *pk.Of[user]](low, -high))
	t.Run("Text", testJSONv2[pk.Text, *pk.Text](low, -high))
	t.Run("SortText", testJSONv2[pk.SortText, *pk.SortText](low, 0))
	t.Run("Prefixed", testJSONv2[pk.Prefixed[user], *pk.Prefixed[user]](low, 0))
	t.Run("String", testJSONv2[pk.String, *pk.String](pk.String(decimal(low)), ""))

	for _, bad := range []json.MarshalerTo{pk.SortText(-1), pk.Prefixed[user](-1), pk.String("x")} {
		enc := jsontext.NewEncoder(io.Discard)
		mustRefuse(t, "MarshalJSONTo", bad.MarshalJSONTo(enc))
		if enc.OutputOffset() != 0 {
			t.Errorf("MarshalJSONTo of %#v wrote %d bytes", bad, enc.OutputOffset())
		}
	}
}

func testJSONv2[K interface {
	key
	json.MarshalerTo
}, P interface {
	pointer[K]
	json.UnmarshalerFrom
}](keys ...K) func(*testing.T) {
	return func(t *testing.T) {
		for _, k := range keys {
			v1 := errtest.Must(k.MarshalJSON())(t)
			if v2, err := json.Marshal([]K{k}); err != nil || string(v2) != "["+string(v1)+"]" {
				t.Errorf("json/v2 writes %s, %v, want [%s]", v2, err, v1)
			}
			back := []K{k}
			if err := json.Unmarshal([]byte("["+string(v1)+"]"), &back); err != nil || len(back) != 1 || back[0] != k {
				t.Errorf("json/v2 reads %v, %v, want %v", back, err, k)
			}
			enc := jsontext.NewEncoder(io.Discard)
			if n := testing.AllocsPerRun(100, func() { err = k.MarshalJSONTo(enc) }); n != 0 || err != nil {
				t.Errorf("MarshalJSONTo makes %v allocations, want 0; %v", n, err)
			}
		}
		for _, bad := range []string{`[1.5]`, `[{}]`, `[""`} {
			into := []K{keys[0]}
			if err := json.Unmarshal([]byte(bad), &into); err == nil {
				t.Errorf("json/v2 accepts %s", bad)
			}
		}
	}
}
