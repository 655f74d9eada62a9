// Web shows in a browser what JavaScript does to 64-bit ids:
//
//	go run ./examples/web
//
// The page fetches two users whose ids differ by one. With ids as JSON numbers, JavaScript
// rounds them, and the page gets the wrong user. With pk.ID it gets the right one.
//
// The tests of this folder show how keys enter and leave a Go program: through JSON,
// protobuf, the forms and URLs of gin, echo and chi, GraphQL, OpenAPI and CSV. They send
// two ids that differ by one, and some bad ids, through each format, for every type of
// key. Their results are the tables of docs/web.md:
//
//	go test . -update
//	GOTOOLCHAIN=go1.27.0 go test . -update
//
// The folder is a module of its own, so that other modules do not depend on the frameworks.
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

// A numbered user has its id as a number in JSON, as an int64 has.
type numbered struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// A keyed user has its id as text in JSON.
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

// newIDs returns the ids of two users, which differ by one. JavaScript writes the second
// like the first. It writes most ids like a number that is nobody's id.
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

// inJavaScript is String(id).
func inJavaScript(id int64) string { return strconv.FormatFloat(float64(id), 'f', -1, 64) }

// newHandler serves the page, and the users Ada and Bob in both ways.
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

// handle serves the list of users, and each user by its id.
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
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
