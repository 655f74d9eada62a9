package main

import (
	"encoding/json"
	"testing"

	jsoniter "github.com/json-iterator/go"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// jsoniter, which gin uses with a build tag, needs no tag for keys. With the option string it
// writes what is not JSON, so gormid.Check and bunid.Check report the option.
func TestJSONIterator(t *testing.T) {
	api := jsoniter.ConfigCompatibleWithStandardLibrary
	var plain struct {
		ID pk.ID `json:"id"`
	}
	errtest.NoError(t, api.Unmarshal([]byte(`{"id":"1234567890123456789"}`), &plain))
	if out, err := api.Marshal(plain); err != nil || string(out) != `{"id":"1234567890123456789"}` {
		t.Errorf("got %s, %v", out, err)
	}
	if out, err := api.Marshal(struct {
		ID pk.ID `json:"id,string"`
	}{7}); err == nil && json.Valid(out) {
		t.Errorf("%s is valid: docs/web.md need not warn of the option", out)
	}
}
