package filestore

import (
	"cmp"
	"slices"

	"github.com/snowkey-go/snowkey/lease"
)

// A space is the content of a namespace's file.
type space struct {
	Namespace string    `json:"namespace"`
	File      string    `json:"file"`        // the identity of the file that the space was written to
	Current   string    `json:"fingerprint"` // of the namespace; changes when the file is found to be a copy
	Layouts   []*layout `json:"layouts"`
}

// A layout contains the fence and the rows of one layout of a namespace.
type layout struct {
	Name        string `json:"layout"`
	Fingerprint string `json:"fingerprint"` // when it was created or fenced; "" before it is created
	Fence       int64  `json:"fence"`
	Rows        []row  `json:"rows"` // by worker
}

// A row is a lease.Row with names for JSON.
type row struct {
	Worker   int64  `json:"worker"`
	Token    string `json:"token"`
	Revision int64  `json:"revision"`
	Bound    int64  `json:"bound"`
	Expires  int64  `json:"expires_at"` // microseconds since 1970
	Label    string `json:"label"`
	Now      int64  `json:"-"`
}

// layout returns the layout with this name. If there is none, it adds an empty one,
// which names and position ignore.
func (s *space) layout(name string) *layout {
	for _, l := range s.Layouts {
		if l.Name == name {
			return l
		}
	}
	l := &layout{Name: name}
	s.Layouts = append(s.Layouts, l)
	return l
}

// names returns the names of the layouts that were created or have rows.
func (s *space) names() (names []string) {
	for _, l := range s.Layouts {
		if l.exists() || len(l.Rows) > 0 {
			names = append(names, l.Name)
		}
	}
	return names
}

// position returns how many layouts were created.
func (s *space) position() (n int64) {
	for _, l := range s.Layouts {
		if l.exists() {
			n++
		}
	}
	return n
}

func (l *layout) exists() bool { return l.Fingerprint != "" }

func (l *layout) search(worker int64) (int, bool) {
	return slices.BinarySearchFunc(l.Rows, worker, func(r row, worker int64) int { return cmp.Compare(r.Worker, worker) })
}

// row returns the row of a worker, or nil if it has none.
func (l *layout) row(worker int64) *row {
	if i, ok := l.search(worker); ok {
		return &l.Rows[i]
	}
	return nil
}

// add adds a row unless the worker already has one, and reports whether it did.
func (l *layout) add(r row) bool {
	i, ok := l.search(r.Worker)
	if !ok {
		l.Rows = slices.Insert(l.Rows, i, r)
	}
	return !ok
}

// top returns the largest worker of a range that has a row, or least-1 if none has.
func (l *layout) top(least, most int64) int64 {
	i, found := l.search(most)
	if found {
		return most
	}
	if i == 0 || l.Rows[i-1].Worker < least {
		return least - 1
	}
	return l.Rows[i-1].Worker
}

// at returns the rows from least to most as they are read at now.
func (l *layout) at(now, least, most int64) (rows []lease.Row) {
	for _, r := range l.Rows {
		if least <= r.Worker && r.Worker <= most {
			r.Now = now
			rows = append(rows, lease.Row(r))
		}
	}
	return rows
}
