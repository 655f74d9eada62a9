// Package healthz answers the probes of an orchestrator with the health of a pool.
//
//	http.Handle("/readyz", healthz.Ready(ids))
//	http.Handle("/livez", healthz.Live(ids))
package healthz

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Ready returns a handler for readiness probes. It answers 200 if the pool returns ids at
// once or after a short wait for the clock, and 503 otherwise. The body says why:
//
//	{"state":"unleased","reason":"…","behindSeconds":0,"worker":7}
//
// state is an [idgen.State]. reason is there if the lease has a problem, also while ids are
// still issued. worker is there if the pool has a worker number. If the pool is nil, the
// handler uses [idgen.Default] at the time of the request.
func Ready(pool *idgen.Pool) http.Handler {
	return probe{pool, func(s idgen.State) bool { return s <= idgen.Waiting }}
}

// Live returns a handler for liveness probes. It answers 503 only once the pool is closed,
// because a restart helps against nothing else: a database that is unavailable and a clock
// that is wrong stay so. The body is that of [Ready].
func Live(pool *idgen.Pool) http.Handler {
	return probe{pool, func(s idgen.State) bool { return s != idgen.Closed }}
}

type probe struct {
	pool *idgen.Pool
	ok   func(idgen.State) bool
}

// An answer is the body.
type answer struct {
	State  string  `json:"state"`
	Reason string  `json:"reason,omitempty"`
	Behind float64 `json:"behindSeconds"`
	Worker *int64  `json:"worker,omitempty"`
}

func (p probe) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	pool := p.pool
	if pool == nil {
		pool = idgen.Default()
	}
	h := pool.Health()
	a := answer{State: h.State.String(), Behind: h.Behind.Round(time.Microsecond).Seconds()}
	switch {
	case pool == nil:
		a.Reason = idgen.ErrNoPool.Error()
	case h.Reason != nil:
		a.Reason = h.Reason.Error()
	}
	if number, ok := pool.Worker(); ok {
		a.Worker = &number
	}
	status := http.StatusOK
	if !p.ok(h.State) {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) // the client may have gone
}
