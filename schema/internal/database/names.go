package database

import (
	"regexp"
	"slices"
	"strings"
)

var camelCase = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// Words splits a name at underscores, and where a capital follows a small letter.
func Words(name string) []string {
	name = strings.ToLower(camelCase.ReplaceAllString(name, "${1}_${2}"))
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_ -.", r) })
}

// These words say that a column holds a key. All of them may stand at the end of its
// name, and the first two at its start.
var keyWords = []string{"id", "fk", "ids", "uid", "pid", "parent", "ref"}

// Stem returns the words of a column's name without the one that says that it holds a
// key, and whether there is one, as in user_id, userId, user_id_old, id_user and fk_user.
func Stem(name string) (rest []string, isKey bool) {
	rest = Words(name)
	last := len(rest) - 1
	switch {
	case last > 0 && slices.Contains(keyWords, rest[last]):
		return rest[:last], true
	case last > 0 && slices.Contains(keyWords[:2], rest[0]):
		return rest[1:], true
	}
	if i := slices.Index(rest, "id"); i > 0 { // qu_id_purchase
		return slices.Delete(rest, i, i+1), true
	}
	return rest, false
}

// NamedLikeKey reports whether a column has a name that is usual for a foreign key. Such
// names are also parent, created_by and assigned_to.
func NamedLikeKey(name string) bool {
	rest, isKey := Stem(name)
	last := len(rest) - 1
	switch {
	case isKey || last < 0:
		return isKey
	case last == 0:
		return slices.Contains([]string{"uid", "pid", "parent"}, rest[0])
	}
	return (rest[last] == "by" || rest[last] == "to") && strings.HasSuffix(rest[last-1], "ed")
}
