//go:build nightly

package service_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// decodePage writes the page that decodes ids without a server, and returns its URL.
func decodePage(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "decode.html")
	out, err := exec.CommandContext(t.Context(), "go", "run", "github.com/snowkey-go/snowkey/service/internal/decodepage", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return "file://" + file
}

// enter types a text into the page, presses Enter, and returns what the page then shows: the
// title of the table, and the name, value and meaning of each field, or the problem.
func (b *browser) enter(layout, text string) []string {
	b.t.Helper()
	evaluate[chromedp.Void](b, fmt.Sprintf(`layout.value = %q; id.value = ""; output.innerHTML = ""`, layout))
	dbtest.NoError(b.t, chromedp.Do(b.ctx, chromedp.SendKeys("#id", text+"\r")))
	b.wait(`output.innerHTML !== ""`)
	return evaluate[[]string](b, `[
		...[...document.querySelectorAll("caption, #problem")].map(e => e.innerText),
		...[...document.querySelectorAll("tbody tr")].map(r => r.cells[0].innerText + " " + r.cells[2].innerText + " " + r.cells[3].innerText)]`)
}

// Each preset decodes two ids that differ by one. A float64 rounds both to the same number.
func TestNightlyDecodePage(t *testing.T) {
	const first, second = 280421183266521089, 280421183266521090
	url := decodePage(t)
	b := newBrowser(t)
	b.open(url)
	var names []string
	for name, layout := range idgen.Presets() {
		names = append(names, name)
		for _, id := range []int64{first, second} {
			got := b.enter(name, strconv.FormatInt(id, 10))
			var bits strings.Builder
			for _, line := range evaluate[[]string](b, `[...document.querySelectorAll(".bin")].map(e => e.innerText)`) {
				bits.WriteString(line)
			}
			if n, err := strconv.ParseUint(bits.String(), 2, 64); err != nil || n != uint64(id) || len(bits.String()) != 64 {
				t.Errorf("%s: the bits of %d are %s", name, id, bits.String())
			}
			sequence := fmt.Sprintf("sequence %d counts within %v", layout.Decode(id).Sequence, layout.Unit())
			if got[0] != fmt.Sprintf("The fields of %d", id) || !slices.Contains(got, sequence) {
				t.Errorf("%s: the page shows %q; want %q", name, got, sequence)
			}
		}
	}
	if got := evaluate[[]string](b, `[...layout.options].map(o => o.value)`); !reflect.DeepEqual(got, names) {
		t.Errorf("the page offers %q; want %q", got, names)
	}
	// Another layout decodes the same id again.
	evaluate[chromedp.Void](b, `layout.value = "twitter"; layout.dispatchEvent(new Event("change"))`)
	b.wait(fmt.Sprintf(`output.innerText.includes("datacenter") && output.innerText.includes("%d")`, second))

	for _, text := range []string{"-1", "9223372036854775808", "1.5", "<b>bold</b>"} {
		got := b.enter("default", text)
		if want := []string{"This is not an id. Ids are decimal numbers from 0 to 9223372036854775807."}; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: the page shows %q", text, got)
		}
		if evaluate[string](b, `id.getAttribute("aria-invalid")`) != "true" {
			t.Errorf("%q: the field is not marked as invalid", text)
		}
	}
	b.enter("default", strconv.FormatInt(first, 10))
	if evaluate[string](b, `id.getAttribute("aria-invalid")`) != "false" {
		t.Error("an id is marked as invalid")
	}

	// The page is still the file, and has loaded nothing.
	if got := evaluate[string](b, `location.href`); got != url {
		t.Errorf("the page is now %s", got)
	}
	if n := evaluate[int](b, `performance.getEntriesByType("resource").length`); n != 0 {
		t.Errorf("the page has loaded %d files", n)
	}
}
