package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestChi covers chi, which returns parameters as text just like net/http does, and
// leaves it to the handler to parse them.
func TestChi(t *testing.T) {
	read := func(text func(*http.Request) string) func(target, string) error {
		return func(in target, wire string) error {
			router := chi.NewRouter()
			handler := func(w http.ResponseWriter, r *http.Request) {
				if err := setText(in.id, text(r)); err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
				}
			}
			router.Get("/users", handler)
			router.Get("/users/{id}", handler)
			router.Post("/users", handler)
			return serve(router, wire)
		}
	}
	path := func(r *http.Request) string { return chi.URLParam(r, "id") }
	value := func(r *http.Request) string { return r.PathValue("id") }
	form := func(r *http.Request) string { return r.FormValue("id") }
	checkTable(t, []edge{
		{name: "`chi.URLParam`", wire: sentInPath, read: read(path)},
		{name: "`Request.PathValue`", wire: sentInPath, read: read(value)},
		{name: "`Request.FormValue`, the query", wire: sentInQuery, nothing: "GET /users", read: read(form)},
		{name: "`Request.FormValue`, a form", wire: sentInForm, nothing: "POST name=Ada", read: read(form)},
	})
}

// This is a handler for chi.
func Example_chi() {
	router := chi.NewRouter()
	router.Get("/users/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := pk.Parse(chi.URLParam(r, "id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]pk.ID{"id": id})
	})
	fmt.Println(get(router, "/users/1234567890123456789"))
	fmt.Println(get(router, "/users/12x"))
	// Output:
	// 200 {"id":"1234567890123456789"}
	// 400 pk: pk.ID cannot hold "12x": want plain decimal such as "1234567890123456789": digits only, no leading zero
}
