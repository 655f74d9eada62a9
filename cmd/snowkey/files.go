package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// A migration is a change of the database for a migration tool, and what reverses it.
type migration struct {
	name     string
	up, down []string // statements

	// alone says that the tool must not run the file in a transaction, because the
	// statements begin their own. It's only needed on SQLite, where foreign keys can't be
	// switched off in a transaction.
	alone bool
}

// A format is a migration tool, which has its own names of files and its own comments.
type format struct {
	files func(m migration, version string) map[string]string
	hint  string
}

var formats = map[string]format{
	"goose":          {gooseFiles, "Run them with goose up, one at a time: goose up-by-one."},
	"golang-migrate": {golangMigrateFiles, "Run them one at a time: migrate up 1. The URL of MySQL needs multiStatements=true, and that of SQLite x-no-tx-wrap=true."},
	"atlas":          {atlasFiles, "Run atlas migrate hash, then atlas migrate apply 1 for each. The folder undo has the files that reverse them."},
}

// registerFiles adds the flags for migration files.
func registerFiles(cmd *cobra.Command, dir, tool *string) {
	cmd.Flags().StringVar(dir, "files", "", "the `folder` to write migration files to, for teams whose pipeline runs SQL")
	cmd.Flags().StringVar(tool, "format", "goose", "the `tool` that runs the files: goose, golang-migrate or atlas")
}

// gooseFiles has one file with both directions. Each statement is marked, so that goose
// doesn't split the bodies of triggers.
func gooseFiles(m migration, version string) map[string]string {
	var b strings.Builder
	if m.alone {
		b.WriteString("-- +goose NO TRANSACTION\n")
	}
	for _, part := range []struct {
		name       string
		statements []string
	}{{"Up", m.up}, {"Down", m.down}} {
		fmt.Fprintf(&b, "-- +goose %s\n", part.name)
		for _, s := range part.statements {
			fmt.Fprintf(&b, "-- +goose StatementBegin\n%s;\n-- +goose StatementEnd\n", s)
		}
	}
	return map[string]string{version + "_" + m.name + ".sql": b.String()}
}

func golangMigrateFiles(m migration, version string) map[string]string {
	base := version + "_" + m.name
	return map[string]string{base + ".up.sql": script(m.up), base + ".down.sql": script(m.down)}
}

func script(statements []string) string { return strings.Join(append(statements, ""), ";\n") }

// atlasFiles has no file for the way back in the folder itself, because Atlas would run it.
func atlasFiles(m migration, version string) map[string]string {
	head := "-- atlas:delimiter \\n-- end\\n\n"
	if m.alone {
		head = "-- atlas:txmode none\n" + head
	}
	all := func(statements []string) string {
		return head + "\n" + strings.Join(append(statements, ""), "\n-- end\n")
	}
	name := version + "_" + m.name + ".sql"
	return map[string]string{name: all(m.up), filepath.Join("undo", name): all(m.down)}
}

// printFiles writes migrations as files for a tool, and prints their names.
func (a *app) printFiles(migrations []migration, dir, tool string) error {
	names, err := writeFiles(migrations, dir, tool, time.Now())
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.stdout, map[string]any{"files": names})
	}
	for _, name := range names {
		fmt.Fprintln(a.stdout, name)
	}
	_, err = fmt.Fprintln(a.stdout, formats[tool].hint)
	return err
}

// writeFiles writes migrations as files for a tool, and returns their names. If it can't
// write all of them, it writes none.
func writeFiles(migrations []migration, dir, tool string, now time.Time) (names []string, err error) {
	f, ok := formats[tool]
	if !ok {
		return nil, &usageError{fmt.Sprintf("there is no format %q; the formats are goose, golang-migrate and atlas", tool)}
	}
	versions, err := nextVersions(dir, len(migrations), now)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for i, m := range migrations {
		for name, text := range f.files(m, versions[i]) {
			files[filepath.Join(dir, name)] = text
			names = append(names, filepath.Join(dir, name))
		}
	}
	slices.Sort(names)
	var written []string
	for _, name := range names {
		if err = os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			break
		}
		var file *os.File
		if file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
			break
		}
		written = append(written, name)
		_, err = file.WriteString(files[name])
		if err = errors.Join(err, file.Close()); err != nil {
			break
		}
	}
	if err != nil {
		for _, name := range written {
			err = errors.Join(err, os.Remove(name))
		}
		return nil, fmt.Errorf("writing the files: %w", err)
	}
	return names, nil
}

var leadingDigits = regexp.MustCompile(`^\d+`)

// nextVersions returns n versions above those that the files in dir already have. They look
// like the existing ones, or are times if there are none.
func nextVersions(dir string, n int, now time.Time) (versions []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	last := ""
	for _, e := range entries {
		digits := leadingDigits.FindString(e.Name())
		if strings.HasSuffix(e.Name(), ".sql") && (len(digits) > len(last) || len(digits) == len(last) && digits > last) {
			last = digits
		}
	}
	const stamp = "20060102150405"
	number, err := strconv.ParseInt(last, 10, 64)
	if last == "" || len(last) == len(stamp) && last < now.UTC().Format(stamp) {
		for i := range n {
			versions = append(versions, now.UTC().Add(time.Duration(i)*time.Second).Format(stamp))
		}
		return versions, nil
	}
	for i := range n {
		versions = append(versions, fmt.Sprintf("%0*d", len(last), number+int64(i)+1))
	}
	return versions, err
}

// asMigrations returns a migration for each phase that has statements.
func asMigrations(p *autoinc.Plan) (all []migration, err error) {
	if p.Online {
		return nil, &usageError{"--files is for plans without --online: SQL alone cannot fill a table in batches, wait for replicas or repeat what did not get its lock; use snowkey migrate apply for that"}
	}
	for _, phase := range p.Phases {
		m := migration{name: "snowkey_" + strings.ReplaceAll(string(phase.Name), "-", "_")}
		for _, s := range phase.Steps {
			m.alone = m.alone || p.Dialect == catalog.SQLite && len(s.Before) > 0
		}
		t := translator{p, m.alone}
		for _, unit := range transactions(phase.Steps) {
			up, down := t.up(unit), t.down(unit)
			m.up = append(m.up, up...)
			m.down = append(down, m.down...)
		}
		if len(m.up) == 0 {
			continue
		}
		var still []string
		for _, query := range p.Generated {
			still = append(still, t.check(query, "a table has a generated key, which nothing can reverse")...)
		}
		m.down = append(still, m.down...)
		m.up, m.down = t.whole(m.up), t.whole(m.down)
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, errors.New("there is nothing to do, and so no file to write")
	}
	return all, nil
}

// transactions groups the steps by transaction.
func transactions(steps []autoinc.Step) (all [][]autoinc.Step) {
	for i, s := range steps {
		if i > 0 && s.Unit != 0 && s.Unit == steps[i-1].Unit {
			all[len(all)-1] = append(all[len(all)-1], s)
		} else {
			all = append(all, []autoinc.Step{s})
		}
	}
	return all
}

// A translator writes as SQL alone what Apply does with steps.
type translator struct {
	plan  *autoinc.Plan
	alone bool
}

func (t translator) mysql() bool {
	return t.plan.Dialect == catalog.MySQL || t.plan.Dialect == catalog.MariaDB
}

// whole adds what the statements of a file need around them.
func (t translator) whole(statements []string) []string {
	switch {
	case t.plan.Dialect == catalog.Postgres:
		// The tools run the file in one transaction, so a failure changes nothing.
		return append([]string{"SET LOCAL lock_timeout = '5s'"}, statements...)
	case t.mysql():
		set := "SET @snowkey_mode = @@SESSION.sql_mode, SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'"
		return append(append([]string{set}, statements...), "SET SESSION sql_mode = @snowkey_mode")
	case t.alone:
		// The tool must take this for a single statement, or else it might use several connections.
		return []string{strings.Join(statements, ";\n")}
	}
	return statements
}

func (t translator) up(unit []autoinc.Step) (all []string) {
	for _, s := range unit {
		switch s.Run {
		case autoinc.Count: // it's for Verify only
		case autoinc.Check:
			all = append(all, t.check(s.SQL, s.ID+": "+s.Text)...)
		default:
			all = append(all, t.unless(s.Done, s.SQL)...)
		}
	}
	return t.around(unit, all)
}

func (t translator) down(unit []autoinc.Step) (all []string) {
	for _, s := range slices.Backward(unit) {
		if s.Run == "lock" {
			continue
		}
		undone := ""
		if s.Done != "" {
			undone = "SELECT NOT (" + s.Done + ")"
		}
		for _, undo := range s.Undo {
			all = append(all, t.unless(undone, undo)...)
		}
	}
	if first := unit[0]; first.Run == "lock" && len(all) > 0 {
		all = append([]string{strings.Replace(first.SQL, "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE", 1)}, all...)
	}
	return t.around(unit, all)
}

// around adds the settings that a unit needs, and its transaction if the tool begins none.
func (t translator) around(unit []autoinc.Step, statements []string) []string {
	if len(statements) == 0 {
		return nil
	}
	if t.alone {
		statements = append(append([]string{"BEGIN IMMEDIATE"}, statements...), "COMMIT")
	}
	return slices.Concat(unit[0].Before, statements, unit[len(unit)-1].After)
}

// In plans, names are quoted with backticks on MySQL.
var createTrigger = regexp.MustCompile("^CREATE TRIGGER ((?:`(?:[^`]|``)+`\\.?)+) ")

// unless runs a statement unless the query done returns a true value. Since MySQL can't
// roll back DDL, we have to make sure that a file that failed half-way can run again from
// its beginning.
func (t translator) unless(done, statement string) []string {
	if !t.mysql() {
		return []string{statement}
	}
	if m := createTrigger.FindStringSubmatch(statement); m != nil { // MySQL can't prepare it
		return []string{"DROP TRIGGER IF EXISTS " + m[1], statement}
	}
	if done == "" || strings.HasPrefix(statement, "DROP TRIGGER IF EXISTS") || strings.HasPrefix(statement, "SET ") {
		return []string{statement}
	}
	return t.prepared(fmt.Sprintf("IF((%s), 'DO 0', %s)", done, literal(statement)))
}

func (t translator) prepared(expression string) []string {
	return []string{"SET @snowkey = " + expression, "PREPARE snowkey FROM @snowkey", "EXECUTE snowkey", "DEALLOCATE PREPARE snowkey"}
}

// literal quotes a string for MySQL, in the mode that the files set.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

// check returns statements that fail if the query returns a row. On SQLite and MySQL this
// is awkward, because they can only raise an error in a trigger or a procedure. There we
// provoke some other error whose text shows the reason.
func (t translator) check(query, reason string) []string {
	switch {
	case t.plan.Dialect == catalog.Postgres:
		return []string{fmt.Sprintf("DO $snowkey_check$ BEGIN IF EXISTS (%s) THEN RAISE EXCEPTION '%%', 'snowkey: %s'; END IF; END $snowkey_check$", query, strings.ReplaceAll(reason, "'", "''"))}
	case t.mysql():
		name := "snowkey: " + strings.ReplaceAll(reason, "`", "'")
		if len(name) > 60 { // names have up to 64 characters
			name = strings.ToValidUTF8(name[:57], "") + "..."
		}
		return t.prepared(fmt.Sprintf("IF(EXISTS (%s), %s, 'DO 0')", query, literal("SELECT `"+name+"`")))
	}
	return []string{
		"CREATE TEMP TABLE snowkey_check (rows_found CHECK (rows_found = 0))",
		fmt.Sprintf("INSERT INTO snowkey_check SELECT EXISTS (%s)", query),
		"DROP TABLE temp.snowkey_check",
	}
}
