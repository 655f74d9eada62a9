package entid

import "testing"

func TestPackageName(t *testing.T) {
	for pkg, want := range map[string]string{
		"example.com/app/keys":    "keys",
		"example.com/app/keys/v2": "keys",
		"example.com/go-keys":     "gokeys",
		"gopkg.in/keys.v3":        "keys",
		"keys":                    "keys",
	} {
		if got := packageName(pkg); got != want {
			t.Errorf("packageName(%s) = %s, want %s", pkg, got, want)
		}
	}
}
