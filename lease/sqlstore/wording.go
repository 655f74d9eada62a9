package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A wording has what stands for the {words} in statements. Which one a store uses depends
// on what it has found out about the server.
type wording struct {
	words    map[string]string
	settings sqlsession.Settings // during each statement

	unknown int        // how many of dialect.unknown it includes
	cluster membership // the one of dialect.clusters that it includes
}

func (s *Store) wording(unknown int, cluster membership) *wording {
	schema, name := sqlsession.SplitName(s.table)
	quoted := s.dialect.Table
	words := map[string]string{
		"{lease}": quoted(s.table), "{ns}": quoted(s.table + "_ns"),
		"{index}": quoted(name + "_expires"), "{name}": name, "{schema}": s.dialect.schema, "{protocol}": protocol.Known(),
		"{tick}": tickWord, "{cap}": capWord, "{raised fence}": raisedFenceWord, "{new fence}": newFenceWord,
		"{free}": freeWord, "{same protocol}": sameProtocolWord, "{shuffled}": shuffledWord, "{all}": allWord,
	}
	if schema != "" {
		words["{schema}"] = "'" + schema + "'"
	}
	maps.Copy(words, s.dialect.words)
	maps.Copy(words, s.dialect.clusters[cluster].words)
	for _, more := range s.dialect.unknown[:unknown] {
		maps.Copy(words, more)
	}
	if cluster > notMember {
		words["{cluster}"] = fmt.Sprint(int64(cluster)) // even if we can't read the view
	}
	return &wording{words, s.dialect.clusters[cluster].settings, unknown, cluster}
}

var word = regexp.MustCompile(`\{[a-z ]+\}`)

// fill replaces the words in a statement, and those in their replacements.
func (w *wording) fill(text string) string {
	return word.ReplaceAllStringFunc(text, func(word string) string { return w.fill(w.words[word]) })
}

// worded calls f with the current wording. If its error shows that the server doesn't tell
// us something that a statement reads, worded calls f with another wording. From then on,
// no statement of this store reads it.
func (s *Store) worded(f func(*wording) error) error {
	for {
		w := s.current.Load()
		err := f(w)
		if err == nil || !s.dialect.Unknown(err) || w.unknown == len(s.dialect.unknown) {
			return s.explain(err)
		}
		s.current.CompareAndSwap(w, s.wording(w.unknown+1, w.cluster)) // otherwise another call was faster
	}
}

// ask finds out to which cluster the server belongs before a statement, unless that's known
// or the statement finds out by itself. So it costs a round trip only before calls other than
// a probe.
func (s *Store) ask(ctx context.Context, text string) error {
	if s.dialect.clusters == nil || s.current.Load().cluster != notAsked || strings.Contains(text, "{cluster}") {
		return nil
	}
	found, err := list(ctx, s, "SELECT {cluster}", nil, func(n *membership) []any { return []any{n} })
	if err == nil && len(found) == 1 {
		s.join(found[0])
	}
	return err
}

// join remembers to which cluster the server belongs. It reports whether the wording of
// statements has changed because of it.
func (s *Store) join(to membership) (changed bool) {
	w := s.current.Load()
	if w.cluster == to {
		return false
	}
	s.current.CompareAndSwap(w, s.wording(w.unknown, to)) // otherwise another call was faster
	return w.cluster != notAsked || to != notMember
}
