package client

import (
	"testing"
)

// FuzzParse checks that a reply is either refused, or read as the right number of ascending
// ids. Whoever sends it may not be the service.
func FuzzParse(f *testing.F) {
	f.Add([]byte("280421183266521089-280421183266521090\n"), 2)
	f.Add([]byte("5\n7-9\n9223372036854775807\n"), 5)
	f.Add([]byte("0-9223372036854775807\n"), 1)
	f.Add([]byte("1\n1\n"), 2)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		n &= 0xffff
		ids, err := parse(text, n)
		if err != nil {
			if ids != nil || len(err.Error()) > 400 {
				t.Errorf("%q: %d, %v", text, ids, err)
			}
			return
		}
		if len(ids) != n {
			t.Errorf("%q: %d ids, want %d", text, len(ids), n)
		}
		for i, id := range ids {
			if id < 0 || i > 0 && id <= ids[i-1] {
				t.Errorf("%q: id %d is %d", text, i, id)
			}
		}
	})
}
