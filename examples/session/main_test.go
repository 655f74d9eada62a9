package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/token"
)

var key = "1:" + strings.Repeat("0123456789abcdef", 4)

// each runs a test with the sessions in Postgres, and in Redis.
func each(t *testing.T, test func(t *testing.T, db *sql.DB)) {
	for _, name := range []string{"postgres", "redis"} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.Postgres(t).Connect(t)
			if name == "redis" {
				t.Setenv("REDIS_URL", "redis://"+dbtest.Redis().Start(t).Address)
			}
			test(t, db)
		})
	}
}

func openPool(t *testing.T, db *sql.DB) *idgen.Pool {
	t.Helper()
	ids := dbtest.Must(snowkey.Open(t.Context(), sqlstore.Postgres(db), snowkey.Config{Window: time.Second, MaxClockSkew: 100 * time.Millisecond}))(t)
	t.Cleanup(func() { ids.Close(context.Background()) })
	return ids
}

// start serves a replica with TLS, and returns its URL.
func start(t *testing.T, db *sql.DB, cfg token.Config) *httptest.Server {
	t.Helper()
	ids := openPool(t, db)
	cfg.IDs = ids
	if cfg.Keys.String() == "keys " {
		cfg.Keys = keys(t, key)
	}
	signer := dbtest.Must(token.New(cfg))(t)
	users := &users{db: db, ids: ids}
	dbtest.NoError(t, users.migrate(t.Context()))
	store := dbtest.Must(openStore(t.Context(), db))(t)
	server := httptest.NewTLSServer(newHandler(users, &sessions{signer, store}))
	t.Cleanup(server.Close)
	return server
}

func keys(t *testing.T, text string) token.Keys {
	t.Helper()
	return dbtest.Must(token.ParseKeys(text))(t)
}

// A browser keeps cookies.
type browser struct {
	t       *testing.T
	client  *http.Client
	headers map[string]string
}

func newBrowser(t *testing.T, server *httptest.Server) *browser {
	t.Helper()
	jar := dbtest.Must(cookiejar.New(nil))(t)
	client := *server.Client()
	client.Jar = jar
	return &browser{t: t, client: &client}
}

func (b *browser) do(method, url string, form url.Values) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response, strings.TrimSpace(string(body))
}

// post fails the test unless the answer has this status.
func (b *browser) post(server *httptest.Server, path string, want int, form ...string) *http.Response {
	b.t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	response, body := b.do("POST", server.URL+path, values)
	if response.StatusCode != want {
		b.t.Fatalf("POST %s: %s %s, want %d", path, response.Status, body, want)
	}
	return response
}

// me fails the test unless GET /me has this answer.
func (b *browser) me(server *httptest.Server, want string) {
	b.t.Helper()
	response, body := b.do("GET", server.URL+"/me", nil)
	if body != want || (response.StatusCode == http.StatusOK) != (want == "ada" || want == "bob") {
		b.t.Fatalf("GET /me: %s %q, want %q", response.Status, body, want)
	}
}

func (b *browser) token(server *httptest.Server) string {
	b.t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	cookies := b.client.Jar.Cookies(u)
	if len(cookies) != 1 || cookies[0].Name != cookieName {
		b.t.Fatalf("the cookies are %v", cookies)
	}
	return cookies[0].Value
}

// login registers a user and logs in with n browsers.
func login(t *testing.T, server *httptest.Server, name string, n int) (browsers []*browser) {
	t.Helper()
	for i := range n {
		b := newBrowser(t, server)
		if i == 0 {
			b.post(server, "/users", http.StatusCreated, "name", name, "password", "correct horse")
		} else {
			b.post(server, "/login", http.StatusNoContent, "name", name, "password", "correct horse")
		}
		b.me(server, name)
		browsers = append(browsers, b)
	}
	return browsers
}

const (
	none  = "log in first"
	ended = "your session has ended; log in again"
)

// TestSessions logs in and out of two replicas.
func TestSessions(t *testing.T) {
	var logged buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	each(t, func(t *testing.T, db *sql.DB) {
		one, two := start(t, db, token.Config{}), start(t, db, token.Config{})
		ada, bob := login(t, one, "ada", 4), login(t, one, "bob", 1)
		newBrowser(t, one).me(one, none)
		newBrowser(t, one).post(one, "/login", http.StatusUnauthorized, "name", "ada", "password", "wrong password")
		newBrowser(t, one).post(one, "/login", http.StatusUnauthorized, "name", "nobody", "password", "correct horse")

		// Both replicas get the same cookie, since cookies do not depend on the port.
		ada[0].me(two, "ada")
		text := ada[0].token(one)
		ada[0].post(two, "/logout", http.StatusNoContent)
		ada[0].me(one, none)
		ada[1].me(one, "ada")
		thief := newBrowser(t, one)
		thief.headers = map[string]string{"Cookie": cookieName + "=" + text}
		thief.me(one, ended)
		thief.me(two, ended)

		// The attacker's own session must not become the victim's.
		victim := newBrowser(t, one)
		fixed := bob[0].token(one)
		victim.headers = map[string]string{"Cookie": cookieName + "=" + fixed}
		victim.post(one, "/login", http.StatusNoContent, "name", "ada", "password", "correct horse")
		bob[0].me(one, ended)
		bob[0].post(one, "/login", http.StatusNoContent, "name", "bob", "password", "correct horse")

		ada[1].post(two, "/password", http.StatusUnauthorized, "password", "wrong password", "new", "battery staple")
		ada[1].post(two, "/password", http.StatusNoContent, "password", "correct horse", "new", "battery staple")
		ada[1].me(one, "ada")
		ada[2].me(one, ended)
		ada[2].post(one, "/login", http.StatusUnauthorized, "name", "ada", "password", "correct horse")
		ada[2].post(one, "/login", http.StatusNoContent, "name", "ada", "password", "battery staple")

		ada[2].post(two, "/logout-everywhere", http.StatusNoContent)
		ada[1].me(one, ended)
		ada[2].me(one, none)
		bob[0].me(one, "bob")

		for _, forged := range []string{text[1:] + text[:1], "", "x", strings.Repeat("x", 4000)} {
			forger := newBrowser(t, one)
			forger.headers = map[string]string{"Cookie": cookieName + "=" + forged}
			forger.me(one, none)
		}
		for _, secret := range []string{text, fixed, bob[0].token(one), "battery staple", "correct horse"} {
			if strings.Contains(logged.String(), secret) {
				t.Errorf("the log shows %q", secret)
			}
		}
		if strings.Count(logged.String(), "session: begins") < 9 || strings.Count(logged.String(), "a token was forged") < 4 {
			t.Errorf("the log is\n%s", logged.String())
		}
	})
}

// A user sees his sessions and ends one of them. The ids of others' sessions do nothing.
func TestListOfSessions(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		server := start(t, db, token.Config{})
		ada, bob := login(t, server, "ada", 2), login(t, server, "bob", 1)
		list := func(b *browser, want int) []string {
			t.Helper()
			_, body := b.do("GET", server.URL+"/sessions", nil)
			lines := strings.Fields(body)
			if len(lines) != 2*want { // an id and a time
				t.Fatalf("the sessions are %q, want %d", body, want)
			}
			return lines
		}
		newest := list(ada[0], 2)[0]
		bob[0].post(server, "/sessions/"+newest+"/end", http.StatusNoContent)
		ada[1].me(server, "ada")
		ada[0].post(server, "/sessions/"+newest+"/end", http.StatusNoContent)
		ada[1].me(server, ended)
		ada[0].me(server, "ada")
		list(ada[0], 1)
		list(bob[0], 1)
		ada[0].post(server, "/sessions/12x/end", http.StatusBadRequest)
	})
}

// A buffer may be written and read by several goroutines.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// TestCookie checks the attributes that OWASP's cheat sheet asks for.
func TestCookie(t *testing.T) {
	db := dbtest.Postgres(t).Connect(t)
	server := start(t, db, token.Config{})
	b := newBrowser(t, server)
	response := b.post(server, "/users", http.StatusCreated, "name", "ada", "password", "correct horse")
	want := fmt.Sprintf("__Host-id=%s; Path=/; HttpOnly; Secure; SameSite=Lax", b.token(server))
	if got := response.Header.Values("Set-Cookie"); len(got) != 1 || got[0] != want {
		t.Errorf("the cookie is %q", got)
	}
	if got := response.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	response = b.post(server, "/logout", http.StatusNoContent)
	if got := response.Header.Get("Set-Cookie"); got != "__Host-id=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax" {
		t.Errorf("after the logout, the cookie is %q", got)
	}

	// A form on another page.
	b.headers = map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
	b.post(server, "/login", http.StatusForbidden, "name", "ada", "password", "correct horse")
	b.headers = nil
	b.me(server, none)
}

// TestProgram runs the whole program until its context ends.
func TestProgram(t *testing.T) {
	db := dbtest.Postgres(t)
	t.Setenv("DATABASE_URL", db.DSN)
	t.Setenv("SESSION_KEYS", key)
	listener := dbtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- run(ctx, listener) }()
	response := dbtest.Must(http.Get("http://" + listener.Addr().String() + "/me"))(t)
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("GET /me: %s", response.Status)
	}
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}

	for name, value := range map[string]string{"SESSION_KEYS": "hunter2", "REDIS_URL": "postgres://me:hunter2@x"} {
		t.Setenv(name, value)
		listener := dbtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		if err := run(t.Context(), listener); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		t.Setenv(name, key)
	}
}
