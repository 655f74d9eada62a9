package bunid

import (
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		template string
		want     statement
	}{

		{`INSERT INTO "users" ("id", "name") VALUES (?, ?)`, statement{columns: []string{"id", "name"}}},
		{"INSERT INTO `users` (`id`) VALUES (?) RETURNING `id`, `age`", statement{columns: []string{"id"}, returning: []string{"id", "age"}}},
		{`INSERT INTO users AS "user" ("id") VALUES (lower('it''s (', "x"))`, statement{columns: []string{"id"}}},
		{`REPLACE INTO "users" ("id") VALUES (?)`, statement{columns: []string{"id"}, replace: true}},
		{`INSERT IGNORE INTO "users" ("id") VALUES (?)`, statement{columns: []string{"id"}, conflict: true}},
		{`INSERT INTO "ignore" ("replace", "on") VALUES (?, ?)`, statement{columns: []string{"replace", "on"}}},
		{`/* INSERT IGNORE INTO x */ INSERT INTO "users" ("id") VALUES (?)`, statement{columns: []string{"id"}}},
		{"-- REPLACE INTO x\nINSERT INTO \"users\" (\"id\") VALUES (?)", statement{columns: []string{"id"}}},
		{`INSERT INTO "users" ("id") VALUES (?) ON CONFLICT (id) DO NOTHING`, statement{columns: []string{"id"}, conflict: true}},
		{`INSERT INTO "users" ("id") VALUES (?) on duplicate key update x = VALUES(x)`, statement{columns: []string{"id"}, conflict: true}},
		{`INSERT INTO "users" ("id") VALUES (?) ON CONFLICT DO NOTHING RETURNING *`, statement{columns: []string{"id"}, conflict: true, returning: []string{"*"}}},
		{`INSERT INTO u ("id") VALUES (?) RETURNING u."id", ?TableAlias.*, f(a, b) AS c`, statement{columns: []string{"id"}, returning: []string{"id", "*", "c"}}},
		{`INSERT INTO u ("id") VALUES (?) RETURNING ?PKs`, statement{columns: []string{"id"}, returning: []string{"?PKs"}}},
		{`INSERT INTO "users" SELECT * FROM "data"`, statement{query: true}},
		{`INSERT INTO "users" (id, name) SELECT id, name FROM a JOIN b ON a.x = b.x`, statement{columns: []string{"id", "name"}, query: true, conflict: true}},
		{`WITH "a" ("id") AS (VALUES (?)), "b" AS (INSERT INTO x (y) VALUES (1) ON CONFLICT DO NOTHING RETURNING z) INSERT INTO "users" ("id") VALUES (?)`, statement{columns: []string{"id"}}},
		{`INSERT INTO "users" ("été", "naïve") VALUES (?, ?)`, statement{columns: []string{"été", "naïve"}}},
		{`INSERT INTO "users" ("id") VALUES (?, 'it\'s') ON CONFLICT DO NOTHING`, statement{columns: []string{"id"}, unclear: true}},
		{`INSERT INTO "users`, statement{}},
		{`/* INSERT INTO`, statement{}},
		{`)((`, statement{}},
		{``, statement{}},
	} {
		if got := parse(c.template); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.template, got, c.want)
		}
	}
}

func TestTargets(t *testing.T) {
	for query, want := range map[string][]target{
		`INSERT INTO "users" ("id") VALUES (?)`: {{"users", 0}},
		"INSERT INTO `shop`.`users` (id)":       {{"users", 0}},
		`INSERT IGNORE INTO users SELECT 1`:     {{"users", 0}},
		`insert into a.b.c`:                     {{"c", 0}},
		`WITH x AS (INSERT INTO "in" ("id") VALUES (1)), y AS (SELECT (SELECT 1)) MERGE INTO public.users AS u USING x`: {{"in", 1}, {"users", 0}},
		`INSERT INTO a (id) VALUES ('INSERT INTO b (', "INTO c", 'it''s INTO d') /* INTO e */ -- INTO f`:                {{"a", 0}},
		"SELECT * FROM users WHERE name = 'INTO users'":                                                                 nil,
		"INSERT INTO": nil,
	} {
		if got := targets(query); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", query, got, want)
		}
	}
}

// FuzzStatement: any SQL is read without a panic.
func FuzzStatement(f *testing.F) {
	f.Add(`INSERT INTO "users" ("id") VALUES ('it''s') /* c */ -- d`)
	f.Fuzz(func(_ *testing.T, s string) {
		parse(s)
		targets(s)
	})
}
