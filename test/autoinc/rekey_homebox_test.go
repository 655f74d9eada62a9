package autoinc_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// homeboxTables are the tables of Homebox with the values that its rows need. In them, {n} is
// the number of a row, {id} its key, {time} a time twice, and {users} the key of a row of users.
var homeboxTables = [][3]string{
	{"groups", "id, created_at, updated_at, name", "{id}, {time}, 'group {n}'"},
	{"users", "id, created_at, updated_at, name, email, default_group_id", "{id}, {time}, 'user {n}', 'u{n}@example.org', {groups}"},
	{"user_groups", "user_id, group_id, role", "{users}, {groups}, 'role {n}'"},
	{"group_invitation_tokens", "id, created_at, updated_at, token, expires_at, group_invitation_tokens", "{id}, {time}, 'invitation {n}', {now}, {groups}"},
	{"auth_tokens", "id, created_at, updated_at, token, expires_at, user_auth_tokens", "{id}, {time}, 'token {n}', {now}, {users}"},
	{"auth_roles", "role, auth_tokens_roles", "'role {n}', {auth_tokens}"},
	{"notifiers", "id, created_at, updated_at, name, url, group_id, user_id", "{id}, {time}, 'notifier {n}', 'https://example.org', {groups}, {users}"},
	{"tags", "id, created_at, updated_at, name, group_tags", "{id}, {time}, 'tag {n}', {groups}"},
	{"entity_types", "id, created_at, updated_at, name, group_entity_types", "{id}, {time}, 'type {n}', {groups}"},
	{"entities", "id, created_at, updated_at, name, group_entities, entity_type_entities", "{id}, {time}, 'entity {n}', {groups}, {entity_types}"},
	{"entity_templates", "id, created_at, updated_at, name, default_tag_ids, entity_template_location, group_entity_templates", "{id}, {time}, 'template {n}', '[\"' || {tags} || '\"]', {entities}, {groups}"},
	{"template_fields", "id, created_at, updated_at, name, type, entity_template_fields", "{id}, {time}, 'field {n}', 'text', {entity_templates}"},
	{"entity_fields", "id, created_at, updated_at, name, type, time_value, entity_fields", "{id}, {time}, 'field {n}', 'text', {now}, {entities}"},
	{"tag_entities", "tag_id, entity_id", "{tags}, {entities}"},
	{"maintenance_entries", "id, created_at, updated_at, name, entity_id", "{id}, {time}, 'entry {n}', {entities}"},
	{"attachments", "id, created_at, updated_at, path, title, entity_attachments", "{id}, {time}, {groups} || '/documents/' || {n}, 'attachment {n}', {entities}"},
	{"api_keys", "id, created_at, updated_at, user_id, name, token", "{id}, {time}, {users}, 'key {n}', 'api {n}'"},
	{"password_reset_tokens", "id, created_at, updated_at, user_id, token, expires_at", "{id}, {time}, {users}, 'reset {n}', {now}"},
	{"exports", "id, created_at, updated_at, artifact_path, group_id", "{id}, {time}, {groups} || '/exports/' || {id}, {groups}"},
}

// newHomebox makes the schema of Homebox with rows. Rows with higher numbers are older.
func newHomebox(t *testing.T, db dbtest.DB) shop {
	t.Helper()
	s := shop{DB: db, conn: db.Connect(t), q: catalogtest.Quote(db)}
	s.load(t, filepath.Join("testdata", "homebox."+db.Dialect+".sql"))
	key := func(table string, i int) string {
		return fmt.Sprintf("'%08x-0000-4000-8000-%012d'", 0xfffffff0-uint32(i)*7919, 100*slices.IndexFunc(homeboxTables, func(row [3]string) bool { return row[0] == table })+i)
	}
	for _, row := range homeboxTables {
		for i := 1; i <= households; i++ {
			at := fmt.Sprintf("'2025-02-03 04:%02d:05'", (households-i)/2)
			values := strings.NewReplacer("{n}", fmt.Sprint(i), "{id}", key(row[0], i), "{time}", at+", "+at, "{now}", at).Replace(row[2])
			parent := i // or two rows have the same
			if strings.HasPrefix(row[2], "{id}, {time}") && row[0] != "users" {
				parent = (i + 1) / 2
			}
			for _, other := range homeboxTables {
				values = strings.ReplaceAll(values, "{"+other[0]+"}", key(other[0], parent))
			}
			values = strings.ReplaceAll(values, "' || '", "") // or a JSON column of Postgres would get text
			dbtest.Exec(t, s.conn, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", s.q(row[0]), row[1], values))
		}
	}
	// Each row but the last references the next one of its table, or of one that came later.
	for i := 1; i < households; i++ {
		dbtest.Exec(t, s.conn,
			fmt.Sprintf("UPDATE tags SET tag_children = %s WHERE id = %s", key("tags", i+1), key("tags", i)),
			fmt.Sprintf("UPDATE entities SET entity_children = %s WHERE id = %s", key("entities", i+1), key("entities", i)),
			fmt.Sprintf("UPDATE attachments SET attachment_thumbnail = %s WHERE id = %s", key("attachments", i+1), key("attachments", i)),
			fmt.Sprintf("UPDATE entity_types SET entity_type_default_template = %s WHERE id = %s", key("entity_templates", i), key("entity_types", i)))
	}
	return s
}

// homeboxContent returns what rows say without their keys, along each foreign key.
var homeboxContent = `SELECT u.name || g.name || ug.role || ar.role || n.name || t.name || coalesce(tc.name, '') || e.name || coalesce(ec.name, '') || et.name || coalesce(tpl.name, '') || loc.name || tf.name || ef.name || m.name || a.title || coalesce(th.title, '') || k.name
	FROM users u JOIN "groups" g ON g.id = u.default_group_id JOIN user_groups ug ON ug.user_id = u.id AND ug.group_id = g.id
	JOIN auth_tokens at ON at.user_auth_tokens = u.id JOIN auth_roles ar ON ar.auth_tokens_roles = at.id JOIN notifiers n ON n.user_id = u.id AND n.group_id = g.id
	JOIN tags t ON t.group_tags = g.id LEFT JOIN tags tc ON tc.id = t.tag_children JOIN tag_entities te ON te.tag_id = t.id JOIN entities e ON e.id = te.entity_id LEFT JOIN entities ec ON ec.id = e.entity_children
	JOIN entity_types et ON et.id = e.entity_type_entities LEFT JOIN entity_templates tpl ON tpl.id = et.entity_type_default_template LEFT JOIN entities loc ON loc.id = tpl.entity_template_location
	LEFT JOIN template_fields tf ON tf.entity_template_fields = tpl.id LEFT JOIN entity_fields ef ON ef.entity_fields = e.id LEFT JOIN maintenance_entries m ON m.entity_id = e.id
	LEFT JOIN attachments a ON a.entity_attachments = e.id LEFT JOIN attachments th ON th.id = a.attachment_thumbnail JOIN api_keys k ON k.user_id = u.id`

// All keys of Homebox, an application with 43 columns of UUIDs, get ids: with tables that
// reference themselves and each other, and tables that join two. Keys in a JSON column and in
// paths of files stay, and the plan counts them. The map replaces those of the JSON column.
func TestRekeyHomebox(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Databases(t) {
		if dialect == "mysql" {
			continue // which Homebox doesn't support
		}
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := newHomebox(t, open(t, dialect))
			before, rows, content := s.whole(t), s.rows(t), s.sortedLines(t, homeboxContent)
			if strings.Count(content, "\n") < households {
				t.Fatalf("the rows say %q", content)
			}
			options := autoinc.PlanOptions{Online: dialect == "postgres", Rekey: &autoinc.RekeyOptions{From: historyFrom, To: historyTo, KeepOld: "old_id"}}
			options.NotChildren = []catalog.Column{column("entities", "asset_id")} // the number on a label
			p := plan(t, s.conn, options)
			text := planText(t, p)
			for _, seen := range []string{
				".[entity_templates].[default_tag_ids], of which the first 30 values contain 15 keys of ",
				".[attachments].[path], of which the first 30 values contain 15 keys of ",
				".[exports].[artifact_path], of which the first 30 values contain 30 keys of ",
			} {
				if seen = strings.NewReplacer("[", s.q("x")[:1], "]", s.q("x")[:1]).Replace(seen); !strings.Contains(text, seen) {
					t.Errorf("the plan doesn't say %s", seen)
				}
			}
			applyAllIDs(t, s, p)
			for _, proof := range verify(t, s.conn, p).Proofs {
				if proof.Verdict == autoinc.Refuted {
					t.Errorf("%+v", proof)
				}
			}
			require(t, "what the rows say", s.sortedLines(t, homeboxContent), content)
			report := catalogtest.Inspect(t, s.conn, catalog.Options{})
			if len(report.References) != 27 && dialect == "postgres" {
				t.Errorf("%d foreign keys", len(report.References))
			}
			for _, row := range homeboxTables {
				if strings.HasPrefix(row[1], "id, created_at") {
					s.ordered(t, row[0])
				}
			}
			paths := s.sortedLines(t, "SELECT path FROM attachments")
			requireNumber(t, s.conn, households, map[string]string{
				"postgres": "SELECT count(*) FROM entity_templates, json_array_elements_text(default_tag_ids::json) AS e (value) JOIN tags ON tags.old_id::text = value",
				"sqlite":   "SELECT count(*) FROM entity_templates, json_each(default_tag_ids) AS e JOIN tags ON tags.old_id = e.value",
			}[dialect])
			dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
			require(t, "the paths", s.sortedLines(t, "SELECT path FROM attachments"), paths)
			require(t, "the catalog after undo", s.whole(t), before)
			require(t, "the rows after undo", s.rows(t), rows)
		})
	}
}
