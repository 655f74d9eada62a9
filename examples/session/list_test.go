package main

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/token"
)

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
		ada[1].me(server, "your session has ended; log in again")
		ada[0].me(server, "ada")
		list(ada[0], 1)
		list(bob[0], 1)
		ada[0].post(server, "/sessions/12x/end", http.StatusBadRequest)
	})
}
