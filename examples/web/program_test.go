package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// TestPage checks that the page's script gets the wrong user if the id is a number, and
// the right one if it's text.
func TestPage(t *testing.T) {
	ids := errtest.Must(newIDs(t.Context(), t.TempDir()))(t)
	if ids[1] != ids[0]+1 || ids[0] < 1<<53 {
		t.Fatalf("the ids are %d", ids)
	}
	handler := newHandler(ids)
	fetch := func(path string) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	_, script, _ := strings.Cut(fetch("/"), "<script>")
	script, _, _ = strings.Cut(script, "</script>")

	vm := goja.New()
	errtest.NoError(t, vm.Set("get", fetch))
	errtest.Must(vm.RunString(script))(t)
	for path, want := range map[string]string{"/int64/users": "Ada: Ada, Bob: Ada", "/pk/users": "Ada: Ada, Bob: Bob"} {
		result := errtest.Must(vm.RunString(`compare("` + path + `", async (path) => JSON.parse(get(path)))`))(t)
		promise := result.Export().(*goja.Promise)
		if promise.State() != goja.PromiseStateFulfilled {
			t.Fatalf("%s: %v", path, promise.Result())
		}
		var rows []struct {
			Name, ID, Got string
			Right         bool
		}
		text, err := json.Marshal(promise.Result().Export())
		if err == nil {
			err = json.Unmarshal(text, &rows)
		}
		errtest.NoError(t, err)
		var got []string
		for _, row := range rows {
			got = append(got, row.Name+": "+row.Got)
			if row.Right != (row.Name == row.Got) {
				t.Errorf("%s: %+v", path, row)
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: got %q, want %q", path, text, want)
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/pk/users/12x", nil))
	if w.Code != 400 {
		t.Errorf("a bad id: %d", w.Code)
	}
}

// TestSort checks that the page's function for TypeScript sorts ids by their numbers.
func TestSort(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\nconst byID = ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok {
		t.Fatalf("%s has no function byID", page)
	}
	script := fmt.Sprintf(`["%d", "10", "%d", "9"].map(id => ({id})).sort(%s).map(u => u.id).join(" ")`, int64(high), int64(low),
		strings.TrimSuffix(strings.ReplaceAll(line, ": User", ""), ";"))
	got, err := goja.New().RunString(script)
	if want := fmt.Sprintf("9 10 %d %d", int64(low), int64(high)); err != nil || got.String() != want {
		t.Errorf("%s: %v, %v, want %s", script, got, err, want)
	}
}
