package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A tableSize is what the server estimates for a table when the plan is made.
type tableSize struct {
	Table      catalog.Name `json:"table"`
	Rows       int64        `json:"rows"`
	Bytes      int64        `json:"bytes,omitempty"`
	Indexes    int64        `json:"indexes,omitempty"`
	IndexBytes int64        `json:"indexBytes,omitempty"`
}

// mostCounted is how many rows we count at most if the server has no estimate.
const mostCounted = 100_000

// A speed is how fast the server was when the plan was made. What isn't known is 0.
type speed struct {
	Rate     int64         `json:"rate,omitempty"`     // the bytes that it copies in a second
	Step     time.Duration `json:"step,omitempty"`     // a step that copies nothing
	Planning time.Duration `json:"planning,omitempty"` // which each phase repeats
}

// measure reads the sizes of the plan's tables, and measures the speed.
func (p *planner) measure(ctx context.Context, conn *sql.Conn) error {
	all, err := database.List(ctx, conn, p.query("sizes"), func(t *tableSize) []any {
		return []any{&t.Table.Schema, &t.Table.Name, &t.Rows, &t.Bytes, &t.Indexes, &t.IndexBytes}
	})
	known := database.By(all, func(t tableSize) catalog.Name { return t.Table })
	for _, table := range p.tables() {
		t := known[table]
		t.Table = table
		if t.Rows == 0 && err == nil {
			t.Rows, err = database.One(ctx, conn, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 AS found FROM %s LIMIT %d) AS s", p.name(table), mostCounted), database.Number)
		}
		p.sizes = append(p.sizes, t)
	}
	if err == nil {
		p.speed.Rate, p.speed.Step = p.copyRate(ctx, conn), p.stepTime(ctx, conn)
	}
	return err
}

// stepTime measures statements on an empty temporary table, and returns the median of some rounds,
// the first of which are slow. It returns 0 if the user may not do that.
func (p *planner) stepTime(ctx context.Context, conn *sql.Conn) time.Duration {
	var rounds [15]time.Duration
	for i := range rounds {
		began := time.Now()
		for _, sql := range []string{"BEGIN", "CREATE TEMPORARY TABLE snowkey_step (id int)", "ALTER TABLE snowkey_step ADD COLUMN other int", "DROP TABLE snowkey_step", "COMMIT"} {
			if _, err := conn.ExecContext(ctx, sql); err != nil {
				_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
				return 0
			}
		}
		rounds[i] = time.Since(began)
	}
	slices.Sort(rounds[:])
	took := rounds[len(rounds)/2]
	if p.IsMySQL() {
		// Its tables are not temporary, and a step is recorded before it begins and again at its end.
		// On MySQL 9.7 and MariaDB 10.11, a step took 10 to 60 times as long as these statements.
		took *= 25
	}
	return took
}

// copyRate copies some rows of the largest table into a temporary one. It returns 0 if the
// table is too small to tell, or if the user may not do that.
func (p *planner) copyRate(ctx context.Context, conn *sql.Conn) int64 {
	const most, least = 50_000, 5_000
	largest := slices.MaxFunc(p.sizes, func(a, b tableSize) int { return cmp.Compare(a.Bytes, b.Bytes) })
	if largest.Rows < least || largest.Bytes == 0 {
		return 0
	}
	began := time.Now()
	_, err := conn.ExecContext(ctx, fmt.Sprintf("CREATE TEMPORARY TABLE snowkey_rate AS SELECT * FROM %s LIMIT %d", p.name(largest.Table), most))
	took := time.Since(began)
	if err != nil {
		return 0
	}
	_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DROP TABLE snowkey_rate")
	copied := float64(largest.Bytes) * float64(min(most, largest.Rows)) / float64(largest.Rows)
	return int64(copied / took.Seconds())
}

// A summary is the first page of a plan.
type summary struct {
	Title  string
	Tables []tableSummary
	Phases []Phase
	Total  []string
}

type tableSummary struct{ Name, Rows, Size, Indexes, Change, Time, Locks string }

func (p *Plan) summary() summary {
	s := summary{Phases: p.Phases, Title: fmt.Sprintf("%s of the %s database %q on the way from auto-increment to generated keys", database.Plural(len(p.sizes), "table"), p.Dialect, p.Database)}
	var rows, bytes, copied, space int64
	least, steps := "", 0
	copies := make(map[string][]Step) // by the table that they copy
	for _, phase := range p.Phases {
		steps += len(phase.Steps)
		for _, step := range phase.Steps {
			copies[step.Copies] = append(copies[step.Copies], step)
		}
	}
	for _, t := range p.sizes {
		name := p.server().name(t.Table)
		row := tableSummary{Name: database.Printable(name), Rows: fmt.Sprint(t.Rows), Size: size(t.Bytes), Indexes: fmt.Sprintf("%d, %s", t.Indexes, size(t.IndexBytes)), Change: "no copy", Time: "at once", Locks: "for a moment"}
		if t.Rows == mostCounted {
			least = "at least "
			row.Rows = least + row.Rows
		}
		n, whole := int64(len(copies[name])), t.Bytes+t.IndexBytes
		if n > 0 {
			row.Locks = copies[name][n-1].Locks
			row.Change, row.Time = strings.Replace(database.Plural(int(n), "copy"), "copys", "copies", 1), p.time(n*whole, 0)
			space = max(space, whole)
			if p.Online { // all tables have both columns, or a copy, before the first one is swapped
				space = max(space, copied+whole)
			}
		}
		rows, bytes, copied = rows+t.Rows, bytes+whole, copied+n*whole
		s.Tables = append(s.Tables, row)
	}
	besides := time.Duration(steps)*p.speed.Step + time.Duration(len(p.Phases))*p.speed.Planning
	s.Total = append(s.Total, fmt.Sprintf("in all %s%d rows, %s; %s are copied in %s, which takes %s; free disk needed: %s", least, rows, size(bytes), size(copied), database.Plural(steps, "step"), p.time(copied, besides), size(space)))
	if p.speed.Step > 0 {
		text := fmt.Sprintf("times are for %v a step, and %v to plan each phase again", p.speed.Step.Round(100*time.Microsecond), p.speed.Planning.Round(10*time.Millisecond))
		if p.speed.Rate > 0 {
			text += ", and copying " + size(p.speed.Rate) + " a second"
		}
		s.Total = append(s.Total, text+", as measured on this server when the plan was made, and do not include waiting")
	}
	s.Total = append(s.Total, "every phase can be reversed until the first generated key is inserted; nothing can be reversed after that")
	return s
}

// time returns how long it takes to copy so many bytes, and what there is to do besides.
func (p *Plan) time(bytes int64, besides time.Duration) string {
	switch {
	case p.speed.Step == 0 || p.speed.Rate == 0 && bytes > 100_000_000:
		return "an unknown time"
	case p.speed.Rate > 0:
		besides += time.Duration(float64(bytes) / float64(p.speed.Rate) * float64(time.Second))
	}
	return "about " + max(besides, time.Second).Round(time.Second).String()
}

// size writes a number of bytes.
func size(bytes int64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%d KB", (bytes+999)/1000)
}

// The first page has two forms: comments in the plan's file, and HTML.
var (
	pageText = texttemplate.Must(texttemplate.ParseFS(files, "page.txt"))
	pageHTML = template.Must(template.ParseFS(files, "page.html"))
)

// WriteHTML writes the first page of the plan as HTML, for instance for a change request:
// what happens to each table, how long it takes, and what people have to do.
func (p *Plan) WriteHTML(w io.Writer) error { return pageHTML.Execute(w, p.summary()) }
