//go:build nightly

// Package service tests the id service with programs of other languages: a browser, curl,
// Python, node, and a validator of OpenAPI documents.
package service_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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
	"github.com/snowkey-go/snowkey/service"
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

// A validator accepts the OpenAPI document. npx fetches it, so the test needs npm's registry
// the first time.
func TestNightlyOpenAPIDocument(t *testing.T) {
	npx := dbtest.NPM(t, "@redocly/cli@1.34.3")
	cmd := exec.CommandContext(t.Context(), npx[0], append(npx[1:], "lint", "--extends=recommended", "../../service/openapi.yaml")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A real browser opens a page of an attacker, on the machine on which the service runs
// without tokens. Neither a request of the page, nor its form, nor a name that leads to
// 127.0.0.1 may get ids or read the state.
func TestNightlyPagesOfAttackers(t *testing.T) {
	pool, _ := replica(t, t.TempDir())
	handler := dbtest.Must(service.NewHandler(pool, service.Config{}))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	addr, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- service.ListenAndServe(ctx, "127.0.0.1:0", handler, false, nil, func(a net.Addr) { addr <- a.String() })
	}()
	host := <-addr
	_, port, _ := net.SplitHostPort(host)
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>attacker</title><form method="post" action="http://%s/v1/ids"></form>`, host)
	}))
	defer attacker.Close()

	b := newBrowser(t)
	fetch := func(url, options string) string {
		return evaluate[string](b, fmt.Sprintf(`fetch(%q, %s).then(async r => r.type + " " + r.status + " " + await r.text(), e => "refused")`, url, options))
	}
	b.open(attacker.URL)
	fetch("http://"+host+"/v1/ids?count=7", `{method: "POST", mode: "no-cors"}`)
	evaluate[chromedp.Void](b, `document.forms[0].submit()`)
	b.wait(`document.title !== "attacker"`)
	if n := pool.Stats().Issued; n != 0 {
		t.Errorf("the page got %d ids", n)
	}
	// Browsers take names below localhost for 127.0.0.1, as a name server of the attacker
	// would say.
	b.open("http://attacker.localhost:" + port + "/")
	for _, request := range []struct{ path, options string }{{"/v1/status", `{}`}, {"/v1/ids", `{method: "POST"}`}} {
		if got := fetch(request.path, request.options); !strings.HasPrefix(got, "basic 421 ") {
			t.Errorf("%s: %s", request.path, got)
		}
	}
	if n := pool.Stats().Issued; n != 0 {
		t.Errorf("the page with another name got %d ids", n)
	}
	stop()
	dbtest.NoError(t, <-ended)
}
