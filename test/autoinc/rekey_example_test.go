package autoinc_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// replaceReaders replaces the old keys in a JSON array.
const replaceReaders = `UPDATE posts SET readers = (SELECT json_group_array(CAST(m.new AS TEXT))
	FROM json_each(posts.readers) AS r JOIN snowkey_map_users AS m ON m.old = r.value)`

// showUser redirects requests with an old key.
func showUser(db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil { // not a new key
			err = db.QueryRowContext(r.Context(), "SELECT new FROM snowkey_map_users WHERE old = ?", r.PathValue("id")).Scan(&id)
			if err != nil {
				http.NotFound(w, r)
				return
			}
			http.Redirect(w, r, fmt.Sprintf("/users/%d", id), http.StatusPermanentRedirect)
			return
		}
		fmt.Fprintln(w, "user", id)
	}
}

// The UUIDs of a table become ids with the time of their row. A JSON array is replaced by the
// map, and a handler redirects old URLs.
func Example_rekey() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	_, err = db.Exec(`CREATE TABLE users (id uuid PRIMARY KEY, created_at timestamp);
		CREATE TABLE posts (user_id uuid REFERENCES users, readers json);
		INSERT INTO users VALUES ('8d8ac610-566d-4ef0-9c22-186b2a5ed793', '2026-02-03 04:05:06'), ('0b3c8e1a-0a1b-4f6e-a5b5-0d3f2f3c1a11', '2026-02-03 04:05:07');
		INSERT INTO posts VALUES ('8d8ac610-566d-4ef0-9c22-186b2a5ed793', '["0b3c8e1a-0a1b-4f6e-a5b5-0d3f2f3c1a11"]')`)
	check(err)

	plan, err := autoinc.NewPlan(ctx, db, autoinc.PlanOptions{Rekey: &autoinc.RekeyOptions{}})
	check(err)
	for worker := range int64(2) { // a program takes the ids of snowkey.OpenBackfill
		ids, err := idgen.NewBackfill(idgen.BackfillConfig{Worker: worker})
		check(err)
		_, err = autoinc.Apply(ctx, db, plan, autoinc.ApplyOptions{IDs: ids.At})
		check(err)
	}
	_, err = db.Exec(replaceReaders)
	check(err)

	var user int64
	var readers string
	check(db.QueryRow("SELECT user_id, readers FROM posts").Scan(&user, &readers))
	fmt.Println(user, readers)

	mux := http.NewServeMux()
	mux.Handle("GET /users/{id}", showUser(db))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/users/8d8ac610-566d-4ef0-9c22-186b2a5ed793", nil))
	fmt.Println(w.Code, w.Header().Get("Location"))
	// Output:
	// 144292051943424723 ["144292056137728301"]
	// 308 /users/144292051943424723
}
