package pk_test

import (
	"encoding/json"
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func TestJSONRefuses(t *testing.T) {
	for _, in := range []string{`1.5`, `1e3`, `""`, `"+5"`, `"007"`, `"-0"`, `-0`, `" 5"`, `9223372036854775808`, `true`, `{}`, `[]`} {
		id := pk.ID(7)
		if err := json.Unmarshal([]byte(in), &id); err == nil || id != 7 {
			t.Errorf("%s: %v, %v", in, id, err)
		}
	}
}
