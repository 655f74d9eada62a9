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

// Ready returns a handler for readiness probes. It answers 200 if the pool returns ids
// at once or after a short wait for the clock, and 503 otherwise. The body says why:
//
//	{"state":"unleased","cause":"no_answer","behindSeconds":0,"worker":7}
//
// The state is an [idgen.State]. If it is unleased, the cause is one of [idgen.Causes].
// The worker is present if the pool has a worker number. Since anybody may call a probe,
// the body never has the error of the store, which may contain an address or a user. The
// error is in the log and in [idgen.Health].Reason.
//
// If pool is nil, the handler uses [idgen.Default] at the time of the request. If there
// is none either, the cause is no_pool.
func Ready(pool *idgen.Pool) http.Handler {
	return probe{pool, func(s idgen.State) bool { return s <= idgen.Waiting }}
}

// Live returns a handler for liveness probes. It answers 503 only once the pool is
// closed, because a restart would not help in any other case: an unavailable database
// or a wrong clock stays the same. The body is the same as for [Ready].
func Live(pool *idgen.Pool) http.Handler {
	return probe{pool, func(s idgen.State) bool { return s != idgen.Closed }}
}

type probe struct {
	pool *idgen.Pool
	ok   func(idgen.State) bool
}

// An answer is the body of a response.
type answer struct {
	State  string  `json:"state"`
	Cause  string  `json:"cause,omitempty"`
	Behind float64 `json:"behindSeconds"`
	Worker *int64  `json:"worker,omitempty"`
}

func (p probe) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	pool := p.pool
	if pool == nil {
		pool = idgen.Default()
	}
	h := pool.Health()
	a := answer{State: h.State.String(), Cause: h.Cause, Behind: h.Behind.Round(time.Microsecond).Seconds()}
	if pool == nil {
		a.Cause = "no_pool"
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
	_ = json.NewEncoder(w).Encode(a) // the client may be gone already
}
