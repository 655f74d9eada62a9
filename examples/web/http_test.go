package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/snowkey-go/snowkey/schema/pk/public"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode) // don't print the routes
	codec, err := public.New(public.Key{Version: 'A', Secret: []byte("32 bytes that everyone can read!")})
	if err != nil {
		log.Fatal(err)
	}
	public.SetDefault(codec)
	os.Exit(m.Run())
}

// These return requests as text, which has the method followed by the path or the form.
func sentInQuery(text string) string { return "GET /users?id=" + url.QueryEscape(text) }
func sentInForm(text string) string  { return "POST id=" + url.QueryEscape(text) }
func sentInPath(text string) string  { return "GET /users/" + url.PathEscape(text) }

// serve sends a request and returns the server's error.
func serve(handler http.Handler, wire string) error {
	method, rest, _ := strings.Cut(wire, " ")
	r := httptest.NewRequest(method, "/users", strings.NewReader(rest))
	if method == http.MethodGet {
		r = httptest.NewRequest(method, rest, nil)
	} else {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return fmt.Errorf("%d %s", w.Code, w.Body)
	}
	return nil
}

// get returns the response to a request as a single line.
func get(handler http.Handler, path string) string {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String()))
}
