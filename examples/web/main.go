// Web lets you see in a browser what JavaScript does to 64-bit ids:
//
//	go run ./examples/web
//
// The page fetches two users whose ids differ by one. If the ids are JSON numbers,
// JavaScript rounds them, and the page ends up with the wrong user. With pk.ID, it gets
// the right one.
//
// The tests in this folder show how keys enter and leave a Go program: through JSON,
// protobuf, the forms and URLs of gin, echo and chi, GraphQL, OpenAPI and CSV. For
// every type of key, they send two ids that differ by one, along with some bad ids,
// through each of these formats. The tables in README.md are the results, which you
// can update with:
//
//	go test . -update
//	GOTOOLCHAIN=go1.27.0 go test . -update
//
// This folder is a separate module, because other modules should not have to depend on
// all of these frameworks.
package main

import (
	"context"
	_ "embed" // for the page
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

//go:embed page.html
var browserPage []byte

// A numbered user has an id that is a number in JSON, as any int64 is.
type numbered struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// A keyed user has an id that is text in JSON.
type keyed struct {
	ID   pk.ID  `json:"id"`
	Name string `json:"name"`
}

func main() {
	ids := must(newIDs(context.Background(), os.TempDir()))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("open http://%s in a browser\n", listener.Addr())
	log.Fatal(http.Serve(listener, newHandler(ids)))
}

// newIDs returns the ids of two users. They differ by one, but JavaScript prints the
// second as if it were the first. This takes some searching, because most ids come out
// of JavaScript as a number that isn't the id of any user.
func newIDs(ctx context.Context, dir string) ([]int64, error) {
	pool, err := snowkey.Open(ctx, filestore.Dir(dir+"/snowkey-web"), snowkey.Config{NoSpread: true})
	if err != nil {
		return nil, err
	}
	defer pool.Close(ctx)
	ids, err := pool.NextN(ctx, 1000)
	if err != nil {
		return nil, err
	}
	for i, id := range ids[:len(ids)-1] {
		if inJavaScript(ids[i+1]) == strconv.FormatInt(id, 10) {
			return ids[i : i+2], nil
		}
	}
	return nil, errors.New("no two of a thousand ids are equal in JavaScript")
}

// inJavaScript returns what String(id) is in JavaScript.
func inJavaScript(id int64) string { return strconv.FormatFloat(float64(id), 'f', -1, 64) }

// newHandler serves the page, as well as the users Ada and Bob in both forms.
func newHandler(ids []int64) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(browserPage)
	})
	handle(mux, "/int64/users", []any{numbered{ids[0], "Ada"}, numbered{ids[1], "Bob"}}, ids)
	handle(mux, "/pk/users", []any{keyed{pk.ID(ids[0]), "Ada"}, keyed{pk.ID(ids[1]), "Bob"}}, ids)
	return mux
}

// handle serves the list of users, and each user under its id.
func handle(mux *http.ServeMux, path string, users []any, ids []int64) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { write(w, users) })
	mux.HandleFunc("GET "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := pk.Parse(r.PathValue("id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for i := range ids {
			if ids[i] == int64(id) {
				write(w, users[i])
				return
			}
		}
		http.NotFound(w, r)
	})
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error only means that the client is gone
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
