package pk_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A document is an example of what programs store in JSON columns.
type document struct {
	ID    pk.ID        `json:"id"`
	Owner *pk.Of[user] `json:"owner"`
	None  *pk.ID       `json:"none"`
	Code  pk.SortText  `json:"code"`
	Old   pk.Text      `json:"old"`
	Name  pk.String    `json:"name"`
	List  []pk.ID      `json:"list"`
}

func documentOf(n int64) document {
	return document{
		ID: pk.ID(n), Owner: new(pk.Of[user](n)), Code: pk.SortText(n), Old: pk.Text(n), Name: pk.String(decimal(n)),
		List: []pk.ID{pk.ID(n), pk.ID(n + 1)},
	}
}

// documents creates a table of documents.
func (s session) documents(t *testing.T, docs ...any) {
	t.Helper()
	s.table(t, map[string]string{"postgres": "jsonb", "mysql": "JSON", "sqlite": "TEXT"}[s.dialect])
	for _, doc := range docs {
		s.exec(t, "INSERT INTO t (id) VALUES (?)", string(dbtest.Must(json.Marshal(doc))(t)))
	}
}

// member returns SQL for a member of a document, as text.
func (s session) member(name string) string {
	switch s.dialect {
	case "postgres":
		return "id->>'" + name + "'"
	case "mysql": // MariaDB doesn't have ->>
		return "JSON_UNQUOTE(JSON_EXTRACT(id, '$." + name + "'))"
	default:
		return "id->>'$." + name + "'"
	}
}

func TestJSONColumns(t *testing.T) {
	eachSession(t, func(t *testing.T, s session) {
		s.documents(t, documentOf(low), documentOf(high))
		members := "id"
		for _, name := range []string{"id", "owner", "code", "old", "name"} {
			members += ", " + s.member(name)
		}
		for _, n := range []int64{low, high} {
			for name, key := range map[string]any{"id": pk.Text(n), "code": pk.SortText(n)} {
				where := " FROM t WHERE " + s.member(name) + " = ?"
				if found := column[int](t, s, "SELECT count(*)"+where, key)[0]; found != 1 {
					t.Errorf("%s = %v finds %d documents", name, key, found)
				}
				var text string
				var whole document
				want := documentOf(n)
				got := document{List: want.List}
				dbtest.NoError(t, s.QueryRowContext(t.Context(), s.sql("SELECT "+members+where), key).
					Scan(&text, &got.ID, &got.Owner, &got.Code, &got.Old, &got.Name))
				dbtest.NoError(t, json.Unmarshal([]byte(text), &whole))
				if !reflect.DeepEqual(whole, want) || !reflect.DeepEqual(got, want) {
					t.Errorf("the document comes back as %+v, its members as %+v, want %+v", whole, got, want)
				}
			}
		}
		// Since a member is text, the warning in the package documentation applies to
		// it.
		if s.dialect == "mysql" && !s.mariaDB {
			if got := column[int](t, s, "SELECT count(*) FROM t WHERE "+s.member("id")+" = ?", pk.ID(low)); got[0] != 2 {
				t.Errorf("an ID finds %d documents, not both neighbours: MySQL has changed, so should the documentation", got[0])
			}
		}
	})
}

// Documents of other programs contain numbers, and a key may be an entire document. No
// database may round either of them.
func TestJSONColumnsOfNumbers(t *testing.T) {
	eachSession(t, func(t *testing.T, s session) {
		s.documents(t, map[string]any{"id": int64(low), "list": []int64{low, high}})
		var doc document
		dbtest.NoError(t, json.Unmarshal([]byte(column[string](t, s, "SELECT id FROM t")[0]), &doc))
		if doc.ID != low || !reflect.DeepEqual(doc.List, []pk.ID{low, high}) {
			t.Errorf("the document comes back as %+v", doc)
		}
		if got := column[pk.ID](t, s, "SELECT "+s.member("id")+" FROM t")[0]; got != low {
			t.Errorf("the member is %d", got)
		}

		for _, key := range []any{pk.ID(high), pk.Of[user](high), pk.String(decimal(high)), pk.Text(high)} {
			s.documents(t)
			if _, text := key.(pk.Text); s.dialect == "mysql" && !s.mariaDB && !text {
				if _, err := s.ExecContext(t.Context(), "INSERT INTO t (id) VALUES (?)", key); err == nil {
					t.Errorf("a %T went into a JSON column of MySQL, which used to want a CAST", key)
				}
				s.exec(t, "INSERT INTO t (id) VALUES (CAST(? AS JSON))", key)
			} else {
				s.exec(t, "INSERT INTO t (id) VALUES (?)", key)
			}
			if got := column[pk.ID](t, s, "SELECT id FROM t")[0]; got != high {
				t.Errorf("a %T alone comes back as %d", key, got)
			}
		}
	})
}

// If rows are aggregated into a JSON array, they must keep their keys.
func TestJSONAggregates(t *testing.T) {
	aggregate := map[string]string{"postgres": "json_agg(id)", "mysql": "JSON_ARRAYAGG(id)", "sqlite": "json_group_array(id)"}
	eachSession(t, func(t *testing.T, s session) {
		for columnType, keys := range map[string][2]any{
			"BIGINT": {pk.ID(low), pk.ID(high)}, "VARCHAR(20)": {pk.Text(low), pk.Text(high)},
		} {
			s.table(t, columnType)
			s.exec(t, "INSERT INTO t (id) VALUES (?), (?)", keys[0], keys[1])
			text := column[string](t, s, "SELECT "+aggregate[s.dialect]+" FROM t")[0]
			var ids []pk.ID
			if err := json.Unmarshal([]byte(text), &ids); err != nil || fmt.Sprint(ids) != fmt.Sprint(keys) {
				t.Errorf("%s: %s reads as %v (%v)", columnType, strings.TrimSpace(text), ids, err)
			}
		}
	})
}
