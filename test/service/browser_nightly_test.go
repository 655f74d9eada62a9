//go:build nightly

// Package service tests the id service with programs of other languages: a browser, curl,
// Python, node, and a validator of OpenAPI documents.
package service_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"

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
	dbtest.NoError(t, os.WriteFile(config, []byte(text), 0o644))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("no-proxy-server", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Env("FONTCONFIG_FILE="+config, "HOME="+dir))...)
	t.Cleanup(cancel)
	// A newer browser reports events that the library doesn't know.
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf), chromedp.WithListener(func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok && e.Entry.Source != log.EntrySourceNetwork {
			t.Errorf("the browser says: %s: %s", e.Entry.URL, e.Entry.Text)
		}
	}))
	t.Cleanup(cancel)
	dbtest.Must(chromedp.Call(ctx, log.Enable, cdp.Empty{}))(t)
	return &browser{t, ctx}
}

// open loads a page.
func (b *browser) open(url string) {
	b.t.Helper()
	dbtest.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(url)))
}

// evaluate returns the value of an expression, which may be a promise.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	return dbtest.Must(chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise)))(b.t)
}

// wait waits until the expression is true, on this page or the next one.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for {
		// While a page is replaced, there is nothing that could evaluate it.
		done, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if done {
			return
		}
		if b.ctx.Err() != nil {
			b.t.Fatalf("waiting for %s: %v", expression, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// axe-core must not find anything on the page that violates WCAG 2.1 AA. To show that it
// would, we also remove a label.
func TestNightlyAccessibility(t *testing.T) {
	axe := dbtest.Must(os.ReadFile(filepath.Join(dbtest.NPMFolder(t, "axe-core@4.10.2"), "axe.min.js")))(t)
	static := decodePage(t)
	b := newBrowser(t)
	pool, server := replica(t, t.TempDir())
	id := dbtest.Must(pool.Next(t.Context()))(t)
	check := func(before string) []string {
		t.Helper()
		evaluate[chromedp.Void](b, before)
		evaluate[chromedp.Void](b, string(axe))
		return evaluate[[]string](b, `axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(r => {
			if (r.passes.length < 10) throw new Error("axe ran only " + r.passes.length + " rules");
			return r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" "));
		})`)
	}
	dbtest.NoError(t, chromedp.Do(b.ctx, chromedp.EmulateViewport(400, 1200))) // a narrow window
	for _, scheme := range []string{"light", "dark"} {
		for _, url := range []string{static, server.URL + "/", fmt.Sprintf("%s/?id=%d", server.URL, id), server.URL + "/?id=wrong"} {
			dbtest.Must(chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			}))(t)
			b.open(url)
			for _, v := range check("0") {
				t.Errorf("%s, %s: %s", scheme, url, v)
			}
			if width := evaluate[int](b, `document.documentElement.scrollWidth`); width > 400 {
				t.Errorf("%s, %s: the page is %d pixels wide, and the window 400", scheme, url, width)
			}
		}
	}
	if found := check(`document.querySelector("label").remove()`); len(found) != 1 || !strings.HasPrefix(found[0], "label: ") {
		t.Errorf("without the label, axe found %q", found)
	}
}

// A validator accepts the OpenAPI document.
func TestNightlyOpenAPIDocument(t *testing.T) {
	redocly := filepath.Join(dbtest.NPMFolder(t, "@redocly/cli@1.34.3"), "../../.bin/redocly")
	cmd := exec.CommandContext(t.Context(), redocly, "lint", "--extends=recommended", "../../service/openapi.yaml")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
