package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/service/client"
)

// Whoever answers in the place of the service must not be able to send the client, and its
// token, elsewhere: not from https to http on the same host, and not to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var reached atomic.Int64
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached.Add(1)
			w.Header().Set("Snowkey-Nonce", r.URL.Query().Get("nonce"))
			_, _ = io.WriteString(w, "1\n2\n")
		}))
		defer plain.Close()
		secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain.URL+r.URL.RequestURI(), status)
		}))
		defer secure.Close()
		https := secure.Client()
		https.CheckRedirect = func(*http.Request, []*http.Request) error { return nil } // the program's own requests may be redirected
		c := newClient(t, client.Config{Token: "very-secret-token", Batch: 2, HTTP: https}, secure.URL)
		if id, err := c.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: got %d, %v", status, id, err)
		}
		if n := reached.Load(); n > 0 {
			t.Errorf("%d: %d requests followed a redirect", status, n)
		}
		if https.CheckRedirect(nil, nil) != nil {
			t.Error("the program's own client was changed")
		}
	}
}
