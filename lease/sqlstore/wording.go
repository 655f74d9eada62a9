package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// files has the statements of all dialects, and a file for each with the words that differ.
//
//go:embed *.sql
var files embed.FS

func newStore(db *sql.DB, d sqldialect.Dialect, table string) *Store {
	schema, name := sqlsession.SplitName(table)
	words := map[string]string{
		"lease": d.Table(table), "ns": d.Table(table + "_ns"), "index": d.Quote(name + "_expires"), "name": name,
		"protocol": protocol.Known(), "begin": sqlsession.Begin, "to primary": sqlsession.ToPrimary,
	}
	for _, file := range []string{"statements", string(d)} {
		text, _ := files.ReadFile(file + ".sql") // all of them are there
		maps.Copy(words, sqldialect.Sections(string(text)))
	}
	if schema != "" {
		words["schema"] = "'" + schema + "'"
	}
	s := &Store{db: db, dialect: d, table: table, words: words}
	s.current.Store(&wording{words: words, cluster: notAsked})
	return s
}

// A wording says which words statements have. It depends on what the store has found out
// about the server.
type wording struct {
	words map[string]string // those of the store

	// unknown is how often the server did not tell us what a statement reads, either because
	// the role may not know it or because the server doesn't have it, as is common among
	// compatible servers. The words "unknown 1: …" then replace others. If they don't help,
	// the next ones do too. The last ones read nothing that a server might not have.
	unknown int

	cluster int64 // the one that the server belongs to; its words replace others too
}

// mostUnknown is the number of the last words for servers that don't tell.
const mostUnknown = 3

// These are the clusters in which each member accepts writes, as the word {cluster} returns
// them.
const (
	notAsked  = -1
	notMember = 0 // the server is on its own, or the only one that accepts writes
)

// clusters has what begins the names of their words.
var clusters = map[int64]string{1: "galera: ", 2: "group: "}

// fill replaces the words in a statement, and those in their replacements.
func (w *wording) fill(text string) string {
	return strings.TrimSpace(word.ReplaceAllStringFunc(text, func(word string) string { return w.fill(w.word(word[1 : len(word)-1])) }))
}

var word = regexp.MustCompile(`\{[a-z ]+\}`)

func (w *wording) word(name string) string {
	for n := w.unknown; n > 0; n-- {
		if text, ok := w.words[fmt.Sprintf("unknown %d: %s", n, name)]; ok {
			return text
		}
	}
	if text, ok := w.words[clusters[w.cluster]+name]; ok {
		return text
	}
	return w.words[name]
}

// settings are those during each statement.
func (w *wording) settings() sqlsession.Settings {
	return sqlsession.Settings{Apply: w.word("apply"), Restore: w.word("restore")}
}

// worded calls f with the current wording. If its error shows that the server doesn't tell
// us something that a statement reads, worded calls f with another wording. From then on,
// no statement of this store reads it.
func (s *Store) worded(f func(*wording) error) error {
	for {
		w := s.current.Load()
		err := f(w)
		if err == nil || !s.dialect.Unknown(err) || w.unknown == mostUnknown {
			return s.explain(err)
		}
		s.current.CompareAndSwap(w, &wording{w.words, w.unknown + 1, w.cluster}) // otherwise another call was faster
	}
}

// ask finds out to which cluster the server belongs before a statement, unless that's known
// or the statement finds out by itself. So it costs a round trip only before calls other than
// a probe.
func (s *Store) ask(ctx context.Context, text string) error {
	if !s.dialect.IsMySQL() || s.current.Load().cluster != notAsked || strings.Contains(text, "{cluster}") {
		return nil
	}
	found, err := list(ctx, s, "SELECT {cluster}", nil, func(n *int64) []any { return []any{n} })
	if err == nil && len(found) == 1 {
		s.join(found[0])
	}
	return err
}

// join remembers to which cluster the server belongs. It reports whether the wording of
// statements has changed because of it.
func (s *Store) join(cluster int64) (changed bool) {
	w := s.current.Load()
	if w.cluster == cluster {
		return false
	}
	s.current.CompareAndSwap(w, &wording{w.words, w.unknown, cluster}) // otherwise another call was faster
	return w.cluster != notAsked || cluster != notMember
}
