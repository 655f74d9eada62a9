package chaos

import (
	"fmt"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// A recorder is an issuer that records what a lease grants before passing it on. This
// means that a grant is always recorded before any id can be issued under it.
type recorder struct {
	leased.Issuer
	layout idgen.Layout
	tell   func(text string) // writes a line for human readers

	mu     sync.Mutex
	grants []grant
	at     time.Time // when the last grant was received or extended
}

// A grant has the worker number, start and bound that the issuer has received. Once the
// grant is sealed, its bound is the first counter that was not used.
type grant struct {
	worker, start, bound int64
	sealed               bool
}

func (r *recorder) Grant(worker, start, bound int64) {
	r.mu.Lock()
	r.grants = append(r.grants, grant{worker: worker, start: start, bound: bound})
	r.at = time.Now()
	n := len(r.grants)
	r.mu.Unlock()
	r.tell(fmt.Sprintf("grant %d: worker %d, start %d (id %d), bound %d (id %d)",
		n, worker, start, idOf(r.layout, worker, start), bound, idOf(r.layout, worker, bound)))
	r.Issuer.Grant(worker, start, bound)
}

func (r *recorder) Extend(bound int64) {
	r.mu.Lock()
	n := len(r.grants)
	valid, worker := n > 0 && !r.grants[n-1].sealed, int64(0)
	if valid {
		g := &r.grants[n-1]
		g.bound, worker = max(g.bound, bound), g.worker
		r.at = time.Now()
	}
	r.mu.Unlock()
	if valid {
		r.tell(fmt.Sprintf("grant %d: bound %d (id %d)", n, bound, idOf(r.layout, worker, bound)))
	}
	r.Issuer.Extend(bound)
}

func (r *recorder) Seal(reason error) (unused int64) {
	unused = r.Issuer.Seal(reason)
	r.mu.Lock()
	n := len(r.grants)
	valid := n > 0 && !r.grants[n-1].sealed
	if valid {
		g := &r.grants[n-1]
		g.bound, g.sealed = min(g.bound, unused), true
	}
	r.mu.Unlock()
	if valid {
		r.tell(fmt.Sprintf("grant %d: sealed, the first unused counter is %d: %v", n, unused, reason))
	}
	return unused
}

// state returns the number of grants so far, and when the last of them was received or
// extended.
func (r *recorder) state() (grants int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.grants), r.at
}

// grantOf returns the number of the first grant that allows the ids of a run, starting
// the search at grant number from. It returns 0 if there is none.
func (r *recorder) grantOf(run Run, from int) int {
	worker, first, ok := counterOf(r.layout, run.First)
	other, last, ok2 := counterOf(r.layout, run.Last)
	if !ok || !ok2 || other != worker {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := max(from, 1); n <= len(r.grants); n++ {
		g := r.grants[n-1]
		if g.worker == worker && g.start <= first && last < g.bound {
			return n
		}
	}
	return 0
}
