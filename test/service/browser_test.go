// Package service tests the id service with programs of other languages: a browser, curl,
// Python, node, and a validator of OpenAPI documents.
package service_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png" // the format of the screenshots
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/service"
)

// start serves the ids of the worker number 7.
func start(t *testing.T, cfg service.Config) (url string, ids *idgen.Pool) {
	t.Helper()
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.Background()) })
	h, err := service.NewHandler(ids, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, ids
}

// browse runs Chromium with more arguments, and returns its output. The page has no script,
// and its policy forbids any.
func browse(t *testing.T, chromium string, arguments ...string) string {
	t.Helper()
	dir := t.TempDir()
	// Fonts that were unpacked and not installed are not in Chromium's usual folders.
	fonts := filepath.Join(filepath.Dir(chromium), "..", "..", "share", "fonts")
	config := filepath.Join(dir, "fonts.conf")
	text := fmt.Sprintf("<?xml version=\"1.0\"?><fontconfig><dir>/usr/share/fonts</dir><dir>%s</dir><cachedir>%s</cachedir></fontconfig>", fonts, dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), chromium, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-proxy-server", "--user-data-dir=" + dir}, arguments...)...)
	cmd.Env = append(os.Environ(), "FONTCONFIG_FILE="+config, "HOME="+dir)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.Bytes())
	}
	if strings.Contains(log.String(), "Content Security Policy") {
		t.Errorf("the policy of the page forbids a part of it:\n%s", log.Bytes())
	}
	return out.String()
}

// A browser shows the bits of an id, in light and in dark, on a wide and
// on a narrow window. The screenshots are kept in SNOWKEY_TEST_ARTIFACTS, if it is set.
func TestBrowser(t *testing.T) {
	chromium := dbtest.Chromium(t)
	url, ids := start(t, service.Config{})
	two, err := ids.NextN(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	folder := os.Getenv("SNOWKEY_TEST_ARTIFACTS")
	if folder == "" {
		folder = t.TempDir()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, id := range two {
		page := fmt.Sprintf("%s/?id=%d", url, id)
		if dom := browse(t, chromium, "--dump-dom", page); !strings.Contains(dom, fmt.Sprintf("The fields of %d<", id)) {
			t.Errorf("the browser does not show %d:\n%s", id, dom)
		}
	}
	page := fmt.Sprintf("%s/?id=%d", url, two[0])
	pictures := make(map[string]image.Image)
	for name, arguments := range map[string][]string{
		"light":  {"--window-size=1000,1200"},
		"dark":   {"--window-size=1000,1200", "--blink-settings=preferredColorScheme=0"},
		"narrow": {"--window-size=500,1400"},
	} {
		file := filepath.Join(folder, "page-"+name+".png")
		browse(t, chromium, append(arguments, "--hide-scrollbars", "--screenshot="+file, page)...)
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		pictures[name], _, err = image.Decode(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	// The corner has the colour of the page, and the time field another one.
	for name, want := range map[string][3]uint32{"light": {0xff, 0xff, 0xff}, "dark": {0x0d, 0x11, 0x17}, "narrow": {0xff, 0xff, 0xff}} {
		if got := colourAt(pictures[name], 2, 2); got != want {
			t.Errorf("%s: the page has the colour %x, want %x", name, got, want)
		}
	}
	for name, time := range map[string][3]uint32{"light": {0x9e, 0xc5, 0xfe}, "dark": {0x1f, 0x4f, 0x8f}, "narrow": {0x9e, 0xc5, 0xfe}} {
		count := 0
		bounds := pictures[name].Bounds()
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				if colourAt(pictures[name], x, y) == time {
					count++
				}
			}
		}
		if count < 1000 {
			t.Errorf("%s: %d pixels have the colour of the time field; it is not drawn", name, count)
		}
	}
}

func colourAt(picture image.Image, x, y int) [3]uint32 {
	r, g, b, _ := picture.At(x, y).RGBA()
	return [3]uint32{r >> 8, g >> 8, b >> 8}
}
