package chaos

import (
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A recorder is an issuer that records what a lease grants before passing it on. This
// means that a grant is always recorded before any id can be issued under it.
type recorder struct {
	leased.Issuer
	bits int                              // of the sequence
	note func(format string, args ...any) // writes a line for human readers

	mu     sync.Mutex
	grants []granted
	at     time.Time // when the last grant was received or extended
}

// A granted has the worker number, start and bound that the issuer has received. Once it is
// sealed, its bound is the first counter that was not used.
type granted struct {
	worker, start, bound int64
	sealed               bool
}

func (r *recorder) Grant(worker, start, bound int64) {
	r.mu.Lock()
	r.grants = append(r.grants, granted{worker: worker, start: start, bound: bound})
	r.at = time.Now()
	n := len(r.grants)
	r.mu.Unlock()
	r.note("grant %d: worker %d, start %d, bound %d", n, worker, start, bound)
	r.Issuer.Grant(worker, start, bound)
}

// change changes the last grant unless it is sealed.
func (r *recorder) change(change func(*granted)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.grants); n > 0 && !r.grants[n-1].sealed {
		change(&r.grants[n-1])
	}
}

func (r *recorder) Extend(bound int64) {
	r.change(func(g *granted) {
		g.bound = max(g.bound, bound)
		r.at = time.Now()
	})
	r.note("bound %d", bound)
	r.Issuer.Extend(bound)
}

func (r *recorder) Seal(reason error) (unused int64) {
	unused = r.Issuer.Seal(reason)
	r.change(func(g *granted) { g.bound, g.sealed = min(g.bound, unused), true })
	r.note("sealed, the first unused counter is %d: %v", unused, reason)
	return unused
}

// state returns the number of grants so far, and when the last of them was received or
// extended.
func (r *recorder) state() (grants int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.grants), r.at
}

// grantOf returns the number of the first grant that allows consecutive ids, starting the
// search at grant number from. It returns 0 if there is none.
func (r *recorder) grantOf(first, last int64, from int) int {
	worker, low := r.parts(first)
	other, high := r.parts(last)
	if first < 0 || other != worker {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := max(from, 1); n <= len(r.grants); n++ {
		g := r.grants[n-1]
		if g.worker == worker && g.start <= low && high < g.bound {
			return n
		}
	}
	return 0
}

// parts returns the worker number and the counter of an id. As in package lease, a counter
// is tick and sequence packed into one integer.
func (r *recorder) parts(id int64) (worker, counter int64) {
	const workers = 1<<workerBits - 1
	return id >> r.bits & workers, id>>(r.bits+workerBits)<<r.bits | id&(1<<r.bits-1)
}
