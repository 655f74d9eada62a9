package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/token"
	"github.com/snowkey-go/snowkey/token/sqltoken"
)

// page returns the section of the page about session tokens.
func page(t *testing.T) string {
	t.Helper()
	text := dbtest.Must(os.ReadFile("../../docs/web.md"))(t)
	_, section, ok := strings.Cut(string(text), "\n## Session tokens\n")
	if !ok {
		t.Fatal("the page has no section about session tokens")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// Below is the code of the page that the example does not have.

var (
	signer *token.Signer
	store  token.Store
)

func login10(w http.ResponseWriter, r *http.Request, user int64) error {
	t, err := signer.Issue(r.Context())
	if err == nil {
		err = store.Add(r.Context(), t, user)
	}
	if err == nil {
		http.SetCookie(w, &http.Cookie{Name: "__Host-id", Value: t.Text(), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
	return err
}

func currentUser(r *http.Request) (user int64, session token.Token, err error) {
	cookie, err := r.Cookie("__Host-id")
	if err != nil {
		return 0, token.Token{}, err
	}
	if session, err = signer.Verify(cookie.Value); err == nil { // needs no database
		user, err = store.User(r.Context(), session)
	}
	return user, session, err
}

func logout(r *http.Request, user int64, session token.Token) error {
	return store.Revoke(r.Context(), user, session.ID)
}

func logoutEverywhere(r *http.Request, user int64) error { return store.RevokeUser(r.Context(), user) }

func openSigner(ctx context.Context, db *sql.DB) error {
	keys, err := token.ParseKeys(os.Getenv("SESSION_KEYS"))
	if err != nil {
		return err
	}
	signer, err = token.New(token.Config{Keys: keys, TTL: 12 * time.Hour, Idle: 30 * time.Minute}) // these are the defaults
	if err != nil {
		return err
	}
	sessions := sqltoken.Postgres(db) // or MySQL, SQLite, or redistoken.New(client) for Redis and Valkey
	if err := sessions.Migrate(ctx); err != nil {
		return err
	}
	store = sessions
	return nil
}

// TestPageRuns logs in and out with the functions of the page.
func TestPageRuns(t *testing.T) {
	db := dbtest.Postgres(t).Connect(t)
	idgen.SetDefault(openPool(t, db))
	defer idgen.SetDefault(nil)
	t.Setenv("SESSION_KEYS", key)
	dbtest.NoError(t, openSigner(t.Context(), db))
	begin := func() *http.Request {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		dbtest.NoError(t, login10(w, r, 7))
		r.AddCookie(w.Result().Cookies()[0])
		return r
	}
	one, two, three := begin(), begin(), begin()
	user, session, err := currentUser(one)
	if user != 7 || err != nil {
		t.Fatal(user, err)
	}
	dbtest.NoError(t, logout(one, user, session))
	if _, _, err := currentUser(one); err != token.ErrEnded {
		t.Errorf("after the logout: %v", err)
	}
	if user, _, err := currentUser(two); user != 7 || err != nil {
		t.Error("the other session:", user, err)
	}
	dbtest.NoError(t, logoutEverywhere(two, 7))
	for _, r := range []*http.Request{two, three} {
		if _, _, err := currentUser(r); err != token.ErrEnded {
			t.Errorf("after logout everywhere: %v", err)
		}
	}
	if _, _, err := currentUser(httptest.NewRequest("GET", "/", nil)); err != http.ErrNoCookie {
		t.Errorf("without a cookie: %v", err)
	}
}

// blocksOf returns the page's code blocks of a language.
func blocksOf(t *testing.T, language string) (blocks []string) {
	t.Helper()
	for _, block := range strings.Split(page(t), "```"+language+"\n")[1:] {
		block, _, _ = strings.Cut(block, "```\n")
		blocks = append(blocks, block)
	}
	return blocks
}

// TestStatements runs the statements of the page.
func TestStatements(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		store := map[string]func(*sql.DB) *sqltoken.Store{"postgres": sqltoken.Postgres, "mysql": sqltoken.MySQL, "sqlite": sqltoken.SQLite}[db.Dialect](conn)
		dbtest.NoError(t, store.Migrate(t.Context()))
		ids := func() string {
			return strings.Join(dbtest.Rows(t, conn, "SELECT id FROM snowkey_session ORDER BY id"), " ")
		}
		for i, user := range []string{"7", "7", "8"} {
			dbtest.Must(conn.Exec("INSERT INTO snowkey_session (id, user_id, hash, seen, expires) VALUES (250000000000000001 + " + string(rune('0'+i)) + ", " + user + ", 'x', 1, 2)"))(t)
		}
		statements := strings.Split(strings.TrimSpace(strings.Join(blocksOf(t, "sql"), "")), "\n")
		if len(statements) != 4 {
			t.Fatalf("the page has the statements %q", statements)
		}
		if rows := dbtest.Rows(t, conn, statements[0]); strings.Join(rows, ", ") != "250000000000000002 1, 250000000000000001 1" {
			t.Errorf("%s: %q", statements[0], rows)
		}
		for i, want := range []string{"250000000000000002 250000000000000003", "250000000000000003", ""} {
			dbtest.Must(conn.Exec(statements[i+1]))(t)
			if got := ids(); got != want {
				t.Errorf("after %s, there are %q", statements[i+1], got)
			}
		}
	})
}

// TestCommand passes what the command of the page prints to ParseKeys.
func TestCommand(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	out, err := exec.Command("sh", "-c", blocksOf(t, "sh")[0]).Output()
	if keys, err2 := token.ParseKeys(string(out)); err != nil || err2 != nil || keys.String() != "keys 1" {
		t.Errorf("the command prints %v, %v, %v", keys, err, err2)
	}
}
