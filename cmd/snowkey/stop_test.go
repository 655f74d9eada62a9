package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A writerFunc is a function that serves as an io.Writer.
type writerFunc func(text string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// TestStoppedBackfill checks that a signal stops a backfill after the current batch,
// that apply then says how to continue, and that the next apply continues with the next
// batch.
func TestStoppedBackfill(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t) // only Postgres has backfills
	conn := db.Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE users (id serial PRIMARY KEY)", "INSERT INTO users SELECT nextval('users_id_seq') FROM generate_series(1, 10000)")
	env := map[string]string{"SNOWKEY_DSN": db.DSN}
	file := filepath.Join(t.TempDir(), "plan.sql")
	if got := call(t, env, "migrate", "plan", "--online", "-o", file); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, bar bytes.Buffer
	status := run(ctx, system{strings.NewReader(""), &out, writerFunc(func(text string) {
		bar.WriteString(text)
		if strings.Contains(text, "%") { // this text belongs to the bar
			stop()
		}
	}), func(name string) string { return env[name] }}, []string{"migrate", "apply", "--plan", file, "--batch-size", "1000"})
	if says := "to continue, call: snowkey migrate apply --plan " + file; status != 1 || !strings.Contains(bar.String(), says) {
		t.Errorf("status %d, %q", status, bar.String())
	}
	var filled, first, recorded int
	err := conn.QueryRow(`SELECT count(snowkey_new_id), min((ctid::text::point)[0]::int) FILTER (WHERE snowkey_new_id IS NULL),
		(SELECT split_part(detail, ' of ', 1)::int FROM snowkey_migration WHERE detail LIKE '% of %') FROM users`).Scan(&filled, &first, &recorded)
	if err != nil || filled == 0 || filled == 10000 || first != recorded {
		t.Errorf("%d rows are filled, the first block that is not is %d, and %d are recorded: %v", filled, first, recorded, err)
	}
	got := call(t, env, "migrate", "apply", "--plan", file)
	if got.status != 0 || !strings.Contains(got.out, "the phase widen is complete") {
		t.Errorf("%+v", got)
	}
}
