// Package healthz answers the probes of an orchestrator with the health of a pool.
//
//	http.Handle("/readyz", healthz.Ready(ids))
//	http.Handle("/livez", healthz.Live(ids))
package healthz

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Ready returns a handler for readiness probes. It answers 200 if the pool will return
// ids right away or after a short wait for the clock, and 503 otherwise. The body has the
// details:
//
//	{"state":"unleased","cause":"no_answer","behindSeconds":0,"worker":7}
//
// The state is an [idgen.State]. If it's unleased, there's also a cause, which is one of
// [idgen.Causes]. The worker is included if the pool has a worker number. You won't find
// the store's error in the body: anybody might be able to call a probe, and such errors
// can contain an address or a user name. It's in the log and in [idgen.Health].Reason.
//
// If pool is nil, the handler uses the [idgen.Default] pool at the time of the request.
// Without a default either, the cause is no_pool.
func Ready(pool *idgen.Pool) http.Handler {
	return probe(pool, func(s idgen.State) bool { return s <= idgen.Waiting })
}

// Live returns a handler for liveness probes. It only answers 503 once the pool is
// closed. Restarting wouldn't help with anything else, like an unavailable database or a
// wrong clock. The body is the same as for [Ready].
func Live(pool *idgen.Pool) http.Handler {
	return probe(pool, func(s idgen.State) bool { return s != idgen.Closed })
}

// An answer is the body of a response.
type answer struct {
	State  string  `json:"state"`
	Cause  string  `json:"cause,omitempty"`
	Behind float64 `json:"behindSeconds"`
	Worker *int64  `json:"worker,omitempty"`
}

func probe(pool *idgen.Pool, ok func(idgen.State) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pool := cmp.Or(pool, idgen.Default())
		h := pool.Health()
		a := answer{State: h.State.String(), Cause: h.Cause, Behind: h.Behind.Round(time.Microsecond).Seconds()}
		if pool == nil {
			a.Cause = "no_pool"
		}
		if number, ok := pool.Worker(); ok {
			a.Worker = &number
		}
		status := http.StatusOK
		if !ok(h.State) {
			status = http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(a) // the client may be gone already
	})
}
