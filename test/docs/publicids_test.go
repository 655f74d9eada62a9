package docs_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

type user struct{}

func (user) Prefix() string { return "user" }

// publicIDs returns the section of the page about public ids.
func publicIDs(t *testing.T) string {
	t.Helper()
	return cut(t, read(t, "docs/web.md"), "## Public ids", "", "\n## ")
}

// The command on the page must print a key.
func TestPublicIDsMakeKey(t *testing.T) {
	page := publicIDs(t)
	_, block, ok := strings.Cut(page, "```sh\n")
	command, _, _ := strings.Cut(block, "\n```")
	if !ok || strings.Count(page, "```sh") != 1 {
		t.Fatalf("the page has no command, or several: %q", command)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	var keys []string
	for _, version := range []string{"A:", "B:"} {
		out := dbtest.Must(exec.Command("sh", "-c", command).Output())(t)
		keys = append(keys, version+string(out))
	}
	if _, err := public.Load(strings.Join(keys, "")); err != nil {
		t.Errorf("%s: %v", command, err)
	}
	if _, err := public.Load("A"); err == nil || !strings.HasSuffix(err.Error(), command) {
		t.Errorf("errors name another command: %v", err)
	}
}

// The table of the page must have the text of each form.
func TestPublicIDsShowsForms(t *testing.T) {
	const id = 1234567890123456789
	page := read(t, "docs/web.md")
	keys := read(t, "schema/pk/public/example_test.go")
	_, keys, _ = strings.Cut(keys, `const publicIDKeys = "`)
	keys, _, _ = strings.Cut(keys, `"`)
	codec := dbtest.Must(public.Load(keys))(t)
	hidden := dbtest.Must(codec.Encode("user", id))(t)
	for form, text := range map[string]string{
		"[pk.ID](../schema/pk/doc.go)": pk.ID(id).String(), "`pk.SortText`": pk.SortText(id).String(), "`pk.Prefixed[User]`": pk.Prefixed[user](id).String(),
		"`pk.FormatHex`": pk.FormatHex(id), "`pk.FormatBase58`, which has no 0, O, I and l": pk.FormatBase58(id),
		"`pk.FormatBase62`": pk.FormatBase62(id), "`public.ID[User]`": hidden,
	} {
		if row := " | " + form + " | `" + text + "` |\n"; !strings.Contains(page, row) {
			t.Errorf("the page has no row that ends with%s", row)
		}
	}
}
