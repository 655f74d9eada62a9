package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

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
		for _, unit := range phase.Transactions() {
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

// A translator writes as SQL alone what Apply does with steps.
type translator struct {
	plan  *autoinc.Plan
	alone bool
}

// whole adds what the statements of a file need around them.
func (t translator) whole(statements []string) []string {
	switch {
	case t.plan.Dialect == catalog.Postgres:
		// The tools run the file in one transaction, so a failure changes nothing.
		return append([]string{"SET LOCAL lock_timeout = '5s'"}, statements...)
	case t.plan.Dialect.IsMySQL():
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
	if !t.plan.Dialect.IsMySQL() {
		return []string{statement}
	}
	if m := createTrigger.FindStringSubmatch(statement); m != nil { // MySQL can't prepare it
		return []string{"DROP TRIGGER IF EXISTS " + m[1], statement}
	}
	if done == "" || strings.HasPrefix(statement, "DROP TRIGGER IF EXISTS") || strings.HasPrefix(statement, "SET ") {
		return []string{statement}
	}
	return t.prepared(fmt.Sprintf("IF((%s), 'DO 0', %s)", done, t.plan.Dialect.Literal(statement)))
}

func (t translator) prepared(expression string) []string {
	return []string{"SET @snowkey = " + expression, "PREPARE snowkey FROM @snowkey", "EXECUTE snowkey", "DEALLOCATE PREPARE snowkey"}
}

// check returns statements that fail if the query returns a row. On SQLite and MySQL this
// is awkward, because they can only raise an error in a trigger or a procedure. There we
// provoke some other error whose text shows the reason.
func (t translator) check(query, reason string) []string {
	switch {
	case t.plan.Dialect == catalog.Postgres:
		return []string{fmt.Sprintf("DO $snowkey_check$ BEGIN IF EXISTS (%s) THEN RAISE EXCEPTION '%%', 'snowkey: %s'; END IF; END $snowkey_check$", query, strings.ReplaceAll(reason, "'", "''"))}
	case t.plan.Dialect.IsMySQL():
		name := "snowkey: " + strings.ReplaceAll(reason, "`", "'")
		if len(name) > 60 { // names have up to 64 characters
			name = strings.ToValidUTF8(name[:57], "") + "..."
		}
		return t.prepared(fmt.Sprintf("IF(EXISTS (%s), %s, 'DO 0')", query, t.plan.Dialect.Literal("SELECT `"+name+"`")))
	}
	return []string{
		"CREATE TEMP TABLE snowkey_check (rows_found CHECK (rows_found = 0))",
		fmt.Sprintf("INSERT INTO snowkey_check SELECT EXISTS (%s)", query),
		"DROP TABLE temp.snowkey_check",
	}
}
