package dbtest

import (
	"context"
	"database/sql"
	"testing"
)

// proxied returns two connection pools, one of which goes through a proxy while the
// other bypasses it, and creates the empty table kept.
func proxied(t *testing.T, dialect string) (through, past *sql.DB, db DB, p *Proxy) {
	t.Helper()
	db = Open(t, dialect)
	past = db.Connect(t)
	mustExec(t, past, "CREATE TABLE kept (n INT)")
	led, p := db.Through(t)
	if dialect == "postgres" {
		led.DSN += "?default_query_exec_mode=exec" // by default, the first request of a statement only prepares it
	}
	return led.Connect(t), past, db, p
}

// pinned returns a single connection, because unlike a pool, the driver doesn't check
// that it's still alive before using it.
func pinned(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func count(t *testing.T, conn *sql.DB) (rows int) {
	t.Helper()
	if err := conn.QueryRow("SELECT COUNT(*) FROM kept").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

const insertRow = "INSERT INTO kept VALUES (1)"

func TestProxy(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			requireWanted(t, dialect)
			t.Run("loses a reply", func(t *testing.T) {
				through, past, _, p := proxied(t, dialect)
				conn := pinned(t, through)
				lost := p.LoseReply(1)
				if _, err := conn.ExecContext(t.Context(), insertRow); err == nil {
					t.Error("the reply arrived")
				}
				<-lost
				if n := count(t, past); n != 1 {
					t.Errorf("%d rows, want that of the request whose reply was lost", n)
				}
				if n := count(t, through); n != 1 { // uses a new connection
					t.Errorf("%d rows through the proxy", n)
				}
				conn = pinned(t, through)
				lost = p.LoseReply(2)
				for n := range 2 {
					if _, err := conn.ExecContext(t.Context(), insertRow); (err == nil) != (n == 0) {
						t.Errorf("statement %d: %v", n+1, err)
					}
				}
				<-lost
			})
			t.Run("delivers a request late", func(t *testing.T) {
				through, past, _, p := proxied(t, dialect)
				// pgx also asks the server to cancel the request, and we can't control
				// when that arrives.
				attempts := map[string]int{"postgres": 10, "mysql": 1}[dialect]
				for attempt := 1; count(t, past) == 0; attempt++ {
					if attempt > attempts {
						t.Fatal("0 rows, want that of the late request")
					}
					ctx, cancel := context.WithCancel(t.Context())
					failed := make(chan error)
					conn := pinned(t, through)
					kept := p.KeepRequest(1)
					go func() {
						_, err := conn.ExecContext(ctx, insertRow)
						failed <- err
					}()
					<-kept
					cancel()
					if err := <-failed; err == nil {
						t.Error("the request was answered")
					}
					if n := count(t, past); n != 0 {
						t.Errorf("%d rows before the request was delivered", n)
					}
					if err := p.Deliver(); err != nil {
						t.Fatal(err)
					}
				}
				if err := p.Deliver(); err == nil {
					t.Error("delivered twice")
				}
				kept := p.KeepRequest(1)
				go func() {
					<-kept
					p.Relent()
				}()
				mustExec(t, through, insertRow)
			})
			t.Run("is cut and leads elsewhere", func(t *testing.T) {
				through, _, db, p := proxied(t, dialect)
				p.Cut()
				if through.Ping() == nil {
					t.Error("a way through")
				}
				other := Open(t, dialect) // on the same server, but any other would do
				if err := p.Lead(other); err != nil {
					t.Fatal(err)
				}
				if n := count(t, through); n != 0 {
					t.Errorf("%d rows", n)
				}
				if err := p.Lead(DB{Dialect: "sqlite", DSN: db.DSN}); err == nil {
					t.Error("led to a file")
				}
			})
		})
	}
}
