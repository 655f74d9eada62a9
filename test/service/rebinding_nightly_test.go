//go:build nightly

package service_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/service"
)

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
