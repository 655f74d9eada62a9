package autoinc_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// A merging is a public schema of which two databases are merged.
type merging struct {
	except   []string
	children []catalog.ForeignKey
	differ   string // makes the rows of the second database other ones
	content  string // a query for rows without their keys
}

// Times of rows are spread between these if their tables have none.
var historyFrom, historyTo = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func column(table, name string) catalog.Column {
	return catalog.Column{Table: catalog.Name{Name: table}, Name: name}
}

var mergings = map[string]merging{
	"chinook.postgres": {
		differ:  "UPDATE artist SET name = name || ' of B'",
		content: "SELECT concat_ws(' ', a.name, b.title, t.name, p.name, i.total, c.email, e.email, m.email) FROM artist a JOIN album b USING (artist_id) JOIN track t USING (album_id) LEFT JOIN playlist_track USING (track_id) LEFT JOIN playlist p USING (playlist_id) LEFT JOIN invoice_line USING (track_id) LEFT JOIN invoice i USING (invoice_id) LEFT JOIN customer c USING (customer_id) LEFT JOIN employee e ON e.employee_id = c.support_rep_id LEFT JOIN employee m ON m.employee_id = e.reports_to",
	},
	"chinook.mysql": {
		differ:  "UPDATE Artist SET Name = CONCAT(Name, ' of B')",
		content: "SELECT CONCAT_WS(' ', a.Name, b.Title, t.Name, p.Name, i.Total, c.Email, e.Email, m.Email) FROM Artist a JOIN Album b USING (ArtistId) JOIN Track t USING (AlbumId) LEFT JOIN PlaylistTrack USING (TrackId) LEFT JOIN Playlist p USING (PlaylistId) LEFT JOIN InvoiceLine USING (TrackId) LEFT JOIN Invoice i USING (InvoiceId) LEFT JOIN Customer c USING (CustomerId) LEFT JOIN Employee e ON e.EmployeeId = c.SupportRepId LEFT JOIN Employee m ON m.EmployeeId = e.ReportsTo",
	},
	"chinook.sqlite": {
		differ:  "UPDATE Artist SET Name = Name || ' of B'",
		content: "SELECT printf('%s %s %s %s %s %s %s %s', a.Name, b.Title, t.Name, p.Name, i.Total, c.Email, e.Email, m.Email) FROM Artist a JOIN Album b USING (ArtistId) JOIN Track t USING (AlbumId) LEFT JOIN PlaylistTrack USING (TrackId) LEFT JOIN Playlist p USING (PlaylistId) LEFT JOIN InvoiceLine USING (TrackId) LEFT JOIN Invoice i USING (InvoiceId) LEFT JOIN Customer c USING (CustomerId) LEFT JOIN Employee e ON e.EmployeeId = c.SupportRepId LEFT JOIN Employee m ON m.EmployeeId = e.ReportsTo",
	},
	"sakila.mysql": {
		except:   []string{"film_text"},
		children: []catalog.ForeignKey{{Child: column("film_text", "film_id"), Parent: column("film", "film_id")}},
		differ:   "UPDATE customer SET email = CONCAT(email, ' of B')",
		content:  "SELECT CONCAT_WS(' ', c.email, s.email, f.title, x.title, l.name, p.amount, a.address, y.city, r.rental_date, p.last_update, c.last_update) FROM payment p JOIN customer c USING (customer_id) JOIN rental r USING (rental_id) JOIN staff s ON s.staff_id = p.staff_id JOIN inventory i USING (inventory_id) JOIN film f USING (film_id) LEFT JOIN film_text x USING (film_id) JOIN language l USING (language_id) JOIN address a ON a.address_id = c.address_id JOIN city y USING (city_id)",
	},
	"pagila.postgres": {
		children: []catalog.ForeignKey{{Child: column("store", "manager_staff_id"), Parent: column("staff", "staff_id")}},
		differ:   "UPDATE customer SET email = email || ' of B'",
		content:  "SELECT concat_ws(' ', c.email, s.email, f.title, l.name, p.amount, a.address, y.city, r.rental_date, p.payment_date, c.last_update) FROM payment p JOIN customer c USING (customer_id) JOIN rental r USING (rental_id) JOIN staff s ON s.staff_id = p.staff_id JOIN inventory i USING (inventory_id) JOIN film f USING (film_id) JOIN language l USING (language_id) JOIN address a ON a.address_id = c.address_id JOIN city y USING (city_id)",
	},
}

// Two databases of a public schema get new keys with worker numbers of their own. Copied into
// one, no keys collide, each child has its parent, and a query returns what it returned from
// both. An undo of the second brings back its rows.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range mergings {
			if !yield(name) {
				return
			}
		}
	}) {
		_, dialect, _ := strings.Cut(name, ".")
		if !slices.Contains(dbtest.Databases(t), dialect) || !dbtest.Nightly && (name == "chinook.postgres" || name == "chinook.mysql") {
			continue // the other schemas of these servers have more
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mergings[name]
			load := func() shop {
				db := open(t, dialect)
				s := shop{DB: db, conn: db.Connect(t), q: catalogtest.Quote(db)}
				s.load(t, filepath.Join("testdata", "schemas", name+".sql"))
				s.load(t, filepath.Join("testdata", "schemas", "rows", name+".sql"))
				return s
			}
			a, b := load(), load()
			dbtest.Exec(t, b.conn, m.differ)
			want := strings.Split(a.sortedLines(t, m.content)+b.sortedLines(t, m.content), "\n")
			slices.Sort(want)
			if len(want) < 3 || a.sortedLines(t, m.content) == b.sortedLines(t, m.content) {
				t.Fatalf("the databases have %q", want)
			}
			before, rows := b.whole(t), b.rows(t)
			counts := make(map[string]int)
			for worker, s := range []shop{a, b} {
				options := autoinc.PlanOptions{Composite: true, Online: s.Dialect != "sqlite" && worker == 1, Options: catalog.Options{Children: m.children}, Rekey: &autoinc.RekeyOptions{
					Times: []string{"create_date"}, From: historyFrom, To: historyTo,
				}}
				for _, table := range m.except {
					options.Except = append(options.Except, catalog.Name{Name: table})
				}
				p := plan(t, s.conn, options)
				for range p.Phases {
					dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, past(t, int64(10+worker))))(t)
				}
				prove(t, s.conn, p)
				for _, table := range s.tables(t) {
					counts[table] += number(t, s.conn, "SELECT count(*) FROM "+table)
				}
				if worker == 1 {
					copyRows(t, s, a)
					dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
				}
			}
			for _, table := range a.tables(t) {
				requireNumber(t, a.conn, counts[table], "SELECT count(*) FROM "+table)
			}
			report := catalogtest.Inspect(t, a.conn, catalog.Options{})
			for _, r := range report.References {
				if !slices.Contains(report.Schemas, r.Child.Schema) {
					continue // MySQL lists those of other databases, too
				}
				name := func(n catalog.Name) string { return a.q(n.Schema) + "." + a.q(n.Name) }
				var ties, set []string
				for i, c := range r.Columns {
					ties, set = append(ties, "p."+a.q(r.Keys[i])+" = c."+a.q(c)), append(set, "c."+a.q(c)+" IS NOT NULL")
				}
				requireNumber(t, a.conn, 0, fmt.Sprintf("SELECT count(*) FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)", name(r.Child), strings.Join(set, " AND "), name(r.Parent), strings.Join(ties, " AND ")))
			}
			require(t, "what the merged database returns", a.sortedLines(t, m.content), strings.TrimPrefix(strings.Join(want, "\n"), "\n")+"\n")
			require(t, "the catalog after undo", b.whole(t), before)
			require(t, "the rows after undo", b.rows(t), rows)
		})
	}
}

// sortedLines is lines in order.
func (s shop) sortedLines(t *testing.T, query string) string {
	lines := strings.Split(strings.TrimSuffix(s.lines(t, query), "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// tables returns the application's tables, as they are written in SQL.
func (s shop) tables(t *testing.T) []string {
	all := strings.Fields(s.lines(t, tableNames[s.Dialect]))
	return slices.DeleteFunc(all, func(name string) bool { return strings.Contains(name, "snowkey_") })
}

// copyRows copies all rows of a database to another one, where it can without firing triggers.
func copyRows(t *testing.T, from, to shop) {
	t.Helper()
	conn := dbtest.Must(to.conn.Conn(t.Context()))(t)
	defer conn.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), query, args...); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	switch from.Dialect {
	case "postgres":
		exec("SET session_replication_role = replica")
		defer exec("RESET session_replication_role")
	case "mysql":
		exec("SET foreign_key_checks = 0")
		defer exec("SET foreign_key_checks = 1")
	default:
		var file string
		dbtest.NoError(t, from.conn.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file))
		exec("ATTACH DATABASE ? AS other", file)
		exec("PRAGMA foreign_keys = OFF")
		defer exec("PRAGMA foreign_keys = ON")
	}
	for _, table := range from.tables(t) {
		switch from.Dialect {
		case "postgres":
			for row := range strings.Lines(from.lines(t, "SELECT to_jsonb(r)::text FROM "+table+" r")) {
				exec(fmt.Sprintf("INSERT INTO %s SELECT (jsonb_populate_record(NULL::%[1]s, $1::text::jsonb)).*", table), row)
			}
		case "mysql": // a trigger has copied some rows; the test counts them all
			var other sql.NullString
			dbtest.NoError(t, from.conn.QueryRow("SELECT DATABASE()").Scan(&other))
			exec(fmt.Sprintf("INSERT IGNORE INTO %s SELECT * FROM %s.%[1]s", table, from.q(other.String)))
		default:
			exec(fmt.Sprintf("INSERT INTO main.%s SELECT * FROM other.%[1]s", table))
		}
	}
}
