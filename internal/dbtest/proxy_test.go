package dbtest

import (
	"context"
	"database/sql"
	"testing"
)

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
			db := Open(t, dialect)
			past := db.Connect(t)
			mustExec(t, past, "CREATE TABLE kept (n INT)")
			led, p := db.Through(t)
			if dialect == "postgres" {
				led.DSN += "?default_query_exec_mode=exec" // by default, the first request of a statement only prepares it
			}
			through, rows := led.Connect(t), 0

			for _, n := range []int{1, 2} { // a lost reply
				conn := pinned(t, through)
				lost := p.LoseReply(n)
				for i := range n {
					if _, err := conn.ExecContext(t.Context(), insertRow); (err == nil) != (i < n-1) {
						t.Errorf("reply %d of %d: %v", i+1, n, err)
					}
				}
				<-lost
				rows += n
				if got, also := count(t, past), count(t, through); got != rows || also != rows { // uses a new connection
					t.Errorf("%d rows, and %d through the proxy, want %d", got, also, rows)
				}
			}

			// A late request. pgx also asks the server to cancel it, and we can't control
			// when that arrives.
			attempts := map[string]int{"postgres": 10, "mysql": 1}[dialect]
			for attempt := 1; count(t, past) == rows; attempt++ {
				if attempt > attempts {
					t.Fatal("no row of the late request")
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
				if n := count(t, past); n != rows {
					t.Errorf("%d rows before the request was delivered", n)
				}
				if err := p.Deliver(); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Deliver(); err == nil {
				t.Error("delivered twice")
			}

			p.Cut()
			if through.Ping() == nil {
				t.Error("a way through")
			}
			other := Open(t, dialect) // on the same server, but any other would do
			if err := p.Lead(other); err != nil {
				t.Fatal(err)
			}
			if err := through.Ping(); err != nil {
				t.Error(err)
			}
			if err := p.Lead(DB{Dialect: "sqlite", DSN: db.DSN}); err == nil {
				t.Error("led to a file")
			}
		})
	}
}
