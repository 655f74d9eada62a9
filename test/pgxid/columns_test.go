package pgxid_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// If pgx knows that a column is text, it refuses an integer key. The table in
// docs/sql.md lists the errors.
func TestIntegerForText(t *testing.T) {
	eachWay(t, func(t *testing.T, conn *pgx.Conn, described, registered bool) {
		for i, c := range []struct {
			column string
			arg    any
			says   string
		}{
			{"text", pk.ID(low), "for text (OID 25): cannot find encode plan"},
			{"varchar(20)", pk.Of[user](low), "for varchar (OID 1043): cannot find encode plan"},
			{"char(20)", pk.String(decimal(low)), "for bpchar (OID 1042): cannot find encode plan"},
			{"text[]", []pk.ID{low}, "for text (OID 25): cannot find encode plan"},
		} {
			table := fmt.Sprintf("t%d", i)
			exec(t, conn, "CREATE TEMP TABLE "+table+" (id "+c.column+")")
			_, err := conn.Exec(t.Context(), "INSERT INTO "+table+" (id) VALUES ($1)", c.arg)
			switch {
			case described && (err == nil || !strings.HasSuffix(err.Error(), c.says)):
				t.Errorf("a %T for %s: %v, want %q: pgx has changed, so should docs/sql.md", c.arg, c.column, err, c.says)
			case !described && c.column == "text[]" && !registered:
				if err == nil || !strings.HasSuffix(err.Error(), "for unknown type (OID 0): cannot find encode plan") {
					t.Errorf("a %T for %s: %v", c.arg, c.column, err)
				}
			case !described && err != nil:
				t.Errorf("a %T for %s: %v", c.arg, c.column, err)
			}
		}
		dbtest.NoError(t, reads(t, conn, decimal(low), "SELECT $1::text", pk.Text(low)))
	})
}

// If a program marshals a key, slice or struct to be an entire jsonb document, it must
// arrive correctly. All other cases are those that docs/sql.md warns about.
func TestWholeDocuments(t *testing.T) {
	type row struct {
		ID pk.ID `json:"id"`
	}
	eachWay(t, func(t *testing.T, conn *pgx.Conn, described, registered bool) {
		document := func(arg any) string {
			got, err := one[*string](t, conn, "SELECT ($1::jsonb)::text", arg)
			switch {
			case err != nil:
				return "refused"
			case got == nil:
				return "NULL"
			}
			return *got
		}
		for _, c := range []struct {
			arg                     any
			marshaled               string
			described, blind, lists string // lists: in the blind modes, after Register
		}{
			{pk.ID(low), `"1234567890123456788"`, "1234567890123456788", "1234567890123456788", "1234567890123456788"},
			{pk.Text(low), `"1234567890123456788"`, "1234567890123456788", "1234567890123456788", "1234567890123456788"},
			{pk.SortText(low), `"` + pk.SortText(low).String() + `"`, "refused", "refused", "refused"},
			{pk.SortText(1 << 60), `"1000000000000"`, "1000000000000", "1000000000000", "1000000000000"}, // consists of digits only
			{[]pk.ID{low, high}, `["1234567890123456788", "1234567890123456789"]`, `["1234567890123456788", "1234567890123456789"]`, "refused", "refused"},
			{[]pk.ID{}, "[]", "[]", "refused", "{}"},
			{[]pk.ID(nil), "null", "NULL", "NULL", "NULL"},
			{row{low}, `{"id": "1234567890123456788"}`, `{"id": "1234567890123456788"}`, "refused", "refused"},
		} {
			if got := document(string(dbtest.Must(json.Marshal(c.arg))(t))); got != c.marshaled {
				t.Errorf("a marshaled %T is %s, want %s", c.arg, got, c.marshaled)
			}
			want := c.blind
			if described {
				want = c.described
			} else if registered {
				want = c.lists
			}
			if got := document(c.arg); got != want {
				t.Errorf("a %T is %s, want %s: pgx has changed, so should docs/sql.md", c.arg, got, want)
			}
		}
	})
}

// After LoadType, an array of a domain can be scanned into keys.
func TestScanDomains(t *testing.T) {
	eachWay(t, func(t *testing.T, conn *pgx.Conn, described, registered bool) {
		exec(t, conn, "DROP DOMAIN IF EXISTS key")
		exec(t, conn, "CREATE DOMAIN key AS bigint")
		dbtest.NoError(t, reads(t, conn, pk.ID(high), "SELECT '1234567890123456789'::key"))
		const query = "SELECT '{1234567890123456788,1234567890123456789}'::key[]"
		if _, err := one[[]pk.ID](t, conn, query); err == nil {
			t.Error("pgx scans an array of a type that it does not know: it has changed, so should docs/sql.md")
		}
		for _, name := range []string{"key", "_key"} {
			conn.TypeMap().RegisterType(dbtest.Must(conn.LoadType(t.Context(), name))(t))
		}
		both := []pk.ID{low, high}
		dbtest.NoError(t, reads(t, conn, both, query))
		if described || registered {
			dbtest.NoError(t, reads(t, conn, both, "SELECT $1::key[]", both))
		}
	})
}
