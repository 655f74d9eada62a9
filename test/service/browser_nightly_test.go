//go:build nightly

// Package service tests the id service with programs of other languages: a browser, curl,
// Python, node, and a validator of OpenAPI documents.
package service_test

import (
	"context"
	"fmt"
	_ "image/png" // the format of the screenshots
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A browser is a tab of Chromium. If it complains about anything, such as a part of the page
// that the page's policy forbids, the test fails.
type browser struct {
	t   *testing.T
	ctx context.Context
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	chromium := dbtest.Program(t, "chromium-headless-shell fonts-dejavu-core", "chromium-headless-shell", "chromium", "google-chrome")
	dir := t.TempDir()
	// Fonts that were unpacked and not installed are not in Chromium's usual folders.
	fonts := filepath.Join(filepath.Dir(chromium), "..", "..", "share", "fonts")
	config := filepath.Join(dir, "fonts.conf")
	text := fmt.Sprintf("<?xml version=\"1.0\"?><fontconfig><dir>/usr/share/fonts</dir><dir>%s</dir><cachedir>%s</cachedir></fontconfig>", fonts, dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("no-proxy-server", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Env("FONTCONFIG_FILE="+config, "HOME="+dir))...)
	t.Cleanup(cancel)
	// A newer browser reports events that the library doesn't know.
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf))
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok && e.Entry.Source != log.SourceNetwork {
			t.Errorf("the browser says: %s: %s", e.Entry.URL, e.Entry.Text)
		}
	})
	b := &browser{t, ctx}
	b.run(log.Enable())
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// wait waits until the expression is true, on this page or the next one.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for done := false; !done; {
		// While a page is replaced, there is nothing that could evaluate it.
		err := chromedp.Run(b.ctx, chromedp.Evaluate(expression, &done), chromedp.Sleep(10*time.Millisecond))
		if b.ctx.Err() != nil {
			b.t.Fatalf("waiting for %s: %v", expression, err)
		}
	}
}

// text returns the text of the element that a selector of CSS names.
func (b *browser) text(selector string) (text string) {
	b.t.Helper()
	b.run(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).textContent", selector), &text))
	return text
}

// focused describes the element that has the focus, and how its outline is drawn.
func (b *browser) focused() (element, outline string) {
	b.t.Helper()
	b.run(chromedp.Evaluate(`(e => [e.tagName, e.id || e.textContent.trim()].join(" "))(document.activeElement)`, &element),
		chromedp.Evaluate(`getComputedStyle(document.activeElement).outline`, &outline))
	return element, outline
}

// The page must show the fields of an id in light and dark, and in wide and narrow windows.
func TestNightlyBrowser(t *testing.T) {
	b := newBrowser(t)
	pool, server := replica(t, t.TempDir())
	two, err := pool.NextN(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range two {
		b.run(chromedp.Navigate(fmt.Sprintf("%s/?id=%d", server.URL, id)))
		if caption := b.text("caption"); caption != fmt.Sprintf("The fields of %d", id) {
			t.Errorf("the browser shows %q for %d", caption, id)
		}
	}
	for _, c := range []struct {
		scheme, page, time string
		width              int64
	}{
		{"light", "rgb(255, 255, 255)", "rgb(158, 197, 254)", 1000},
		{"dark", "rgb(13, 17, 23)", "rgb(31, 79, 143)", 1000},
		{"light", "rgb(255, 255, 255)", "rgb(158, 197, 254)", 400},
	} {
		var width int64
		var colours []string
		b.run(chromedp.EmulateViewport(c.width, 1200), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}}),
			chromedp.Navigate(fmt.Sprintf("%s/?id=%d", server.URL, two[0])), chromedp.Evaluate(`document.documentElement.scrollWidth`, &width),
			chromedp.Evaluate(`[...document.querySelectorAll("body, body *")].filter(e => e.getClientRects().length > 0).map(e => getComputedStyle(e).backgroundColor)`, &colours))
		if width > c.width {
			t.Errorf("%s: the page is %d pixels wide, and the window %d", c.scheme, width, c.width)
		}
		// The body has the colour of the page, and the time field another one.
		if colours[0] != c.page || !slices.Contains(colours, c.time) {
			t.Errorf("%s: the elements have the colours %q, want %s first, and %s", c.scheme, colours, c.page, c.time)
		}
	}
}

// Using only the keyboard, people must be able to reach all controls in the order in which
// they're drawn, see which one has the focus, decode an id, and correct a mistake.
func TestNightlyKeyboard(t *testing.T) {
	b := newBrowser(t)
	pool, server := replica(t, t.TempDir())
	two, err := pool.NextN(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Navigate(server.URL))
	for _, want := range []string{"INPUT id", "BUTTON Decode", "A Load the current state", "A OpenAPI document", "DIV Worker numbers"} {
		b.run(chromedp.KeyEvent(kb.Tab))
		element, outline := b.focused()
		if want == "DIV Worker numbers" { // its text is the table
			want, element = "DIV", strings.Fields(element)[0]
		}
		if element != want || !strings.Contains(outline, "solid 3px") {
			t.Errorf("Tab goes to %q with the outline %q, want %q", element, outline, want)
		}
	}
	for _, id := range two {
		b.run(chromedp.Navigate(server.URL), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(fmt.Sprint(id)+"x"+kb.Enter))
		b.wait(`document.querySelector("#id[aria-describedby=problem]") !== null && document.getElementById("problem") !== null`)
		// Tab selects what is in the input, so that typing replaces it.
		b.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(fmt.Sprint(id)+kb.Enter))
		b.wait(`document.querySelector(".bits") !== null`)
		if caption := b.text("caption"); caption != fmt.Sprintf("The fields of %d", id) {
			t.Errorf("the page shows %q for %d", caption, id)
		}
	}
}

// axe-core must not find anything on the page that violates WCAG 2.1 AA. To show that it
// would, we also remove a label.
func TestNightlyAccessibility(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(dbtest.NPMFolder(t, "axe-core@4.10.2"), "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	pool, server := replica(t, t.TempDir())
	id, err := pool.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := func(before string) []string {
		t.Helper()
		var found []string
		b.run(chromedp.Evaluate(before, nil), chromedp.Evaluate(string(axe), nil), chromedp.Evaluate(`axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(r => {
			if (r.passes.length < 10) throw new Error("axe ran only " + r.passes.length + " rules");
			return r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" "));
		})`, &found, chromedp.EvalAsValue, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		return found
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, path := range []string{"/", fmt.Sprintf("/?id=%d", id), "/?id=wrong"} {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}), chromedp.Navigate(server.URL+path))
			for _, v := range check("0") {
				t.Errorf("%s, %s: %s", scheme, path, v)
			}
		}
	}
	if found := check(`document.querySelector("label").remove()`); len(found) != 1 || !strings.HasPrefix(found[0], "label: ") {
		t.Errorf("without the label, axe found %q", found)
	}
}
