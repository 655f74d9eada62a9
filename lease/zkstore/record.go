package zkstore

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/lease"
)

// The changes that a node can hold. A literal state, which only people write, has none.
const (
	doAdd     = "add"
	doClaim   = "claim"
	doRenew   = "renew"
	doRelease = "release"
	doCreate  = "create"
	doFence   = "fence"
)

// A change is the part that the nodes of rows and of namespaces have in common: what to
// do with the state before, and what must be true for it.
type change struct {
	Do    string `json:"do,omitempty"`
	Node  int64  `json:"node,omitempty"`  // the Czxid of the node that was read
	Epoch int64  `json:"epoch,omitempty"` // of the era that was current when the node was read
	Terms terms  `json:"terms,omitzero"`
}

// terms are the fields of [lease.Terms] that a change needs, in microseconds.
type terms struct {
	Epoch   int64 `json:"epoch"`
	Unit    int64 `json:"unit"`
	PerTick int64 `json:"perTick"`
	Ahead   int64 `json:"ahead"`
	Skew    int64 `json:"skew"`
	TTL     int64 `json:"ttl"`
}

func termsOf(t lease.Terms) terms {
	t = whole(t)
	return terms{t.Epoch, t.Unit, t.PerTick, t.Ahead, t.Skew, t.TTL}
}

// whole returns t with Skew as a whole number of milliseconds. The leader's time has no
// more digits: a lease that has expired Skew ago by one server's clock would otherwise
// not have expired by the clock of a server that is Skew behind.
func whole(t lease.Terms) lease.Terms {
	t.Skew = (t.Skew + 999) / 1000 * 1000
	return t
}

func (t terms) lease() lease.Terms {
	return lease.Terms{Epoch: t.Epoch, Unit: t.Unit, PerTick: t.PerTick, Ahead: t.Ahead, Skew: t.Skew, TTL: t.TTL}
}

// void reports whether the write was executed by a later leader than the one under
// which its sender read the node. The leaders between them may have lost what it read.
func (c change) void(stat *zk.Stat) bool { return c.Epoch != epochOf(stat.Mzxid) }

// strange reports whether the write was meant for a node that was deleted since, or was
// copied from another node.
func (c change) strange(stat *zk.Stat) bool { return c.Node != stat.Czxid }

// epochOf returns the epoch of the leader that executed a transaction.
func epochOf(zxid int64) int64 { return zxid >> 32 }

// timeOf returns the leader's time when it executed the last write to a node.
func timeOf(stat *zk.Stat) int64 { return stat.Mtime * 1000 }

// A rowNode is the content of the node of a worker number.
type rowNode struct {
	Before state `json:"before"`
	change
	Token    string `json:"token,omitempty"`
	Label    string `json:"label,omitempty"`
	Wanted   int64  `json:"wanted,omitempty"` // of a claim or renewal
	Unused   int64  `json:"unused,omitempty"` // of a release
	FirstRow bool   `json:"firstRow,omitempty"`
}

// A state is a [lease.Row] without its number and time.
type state struct {
	Token    string `json:"token,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Bound    int64  `json:"bound"`
	Expires  int64  `json:"expires,omitempty"`
	Label    string `json:"label,omitempty"`
}

func stateOf(r lease.Row) state {
	return state{r.Token, r.Revision, r.Bound, r.Expires, escape(r.Label)}
}

// apply returns the row of a node, and whether the write that the node holds changed
// it. The row's Now is the time of that write.
func (r rowNode) apply(worker int64, stat *zk.Stat) (_ lease.Row, ok bool, err error) {
	now, t := timeOf(stat), r.Terms.lease()
	label, err := unescape(r.Before.Label)
	if err != nil {
		return lease.Row{}, false, err
	}
	out := lease.Row{Worker: worker, Token: r.Before.Token, Revision: r.Before.Revision, Bound: r.Before.Bound,
		Expires: r.Before.Expires, Label: label, Now: now}
	switch {
	case r.Do == "":
		return out, false, nil
	case t.Unit <= 0:
		return lease.Row{}, false, errNoUnit
	case r.Do == doAdd && r.FirstRow:
		return lease.Row{Worker: worker, Bound: t.At(now).NewFence, Now: now}, true, nil
	case r.Do == doAdd || r.strange(stat):
		// We can't know which grants the write has replaced, so the row starts again,
		// above all of them.
		return lease.Row{Worker: worker, Bound: t.At(now).RaisedFence, Now: now}, r.Do == doAdd, nil
	case r.void(stat):
		return out, false, nil
	}
	switch r.Do {
	case doClaim:
		if label, err = unescape(r.Label); err == nil {
			ok = leaserule.Claim(&out, leaserule.Namespace{Fingerprint: "checked", Current: "checked"},
				lease.Claim{Terms: t, Seen: out, Token: r.Token, Label: label, Wanted: r.Wanted})
		}
	case doRenew:
		ok = leaserule.Renew(&out, false, lease.Renewal{Terms: t, Held: out, Token: r.Token, Wanted: r.Wanted})
	case doRelease:
		ok = leaserule.Release(&out, out, r.Unused)
	default:
		err = fmt.Errorf("an unknown change %q", r.Do)
	}
	return out, ok, err
}

// A layoutNode is the content of the node of a layout of a namespace. The node of a layout
// that was not created is empty.
type layoutNode struct {
	Before space `json:"before,omitzero"`
	change
	Fingerprint string `json:"fingerprint,omitempty"` // the era that was current
}

// A space is what a namespace stores for a layout.
type space struct {
	Fingerprint string `json:"fingerprint"` // "" if the namespace does not have the layout
	Fence       int64  `json:"fence"`
}

// apply returns what the namespace stores, and whether the write that the node holds
// changed it.
func (l layoutNode) apply(stat *zk.Stat) (space, bool, error) {
	switch {
	case l.Do == "":
		return l.Before, false, nil
	case l.Terms.Unit <= 0:
		return space{}, false, errNoUnit
	case l.strange(stat):
		return space{}, false, nil
	case l.void(stat):
		return l.Before, false, nil
	}
	switch limits := l.Terms.lease().At(timeOf(stat)); l.Do {
	case doCreate:
		return space{l.Fingerprint, limits.NewFence}, true, nil
	case doFence:
		return space{l.Fingerprint, max(l.Before.Fence, limits.RaisedFence)}, true, nil
	}
	return space{}, false, fmt.Errorf("an unknown change %q", l.Do)
}

var errNoUnit = errors.New("the layout has ticks of 0 µs")

// decode reads the content of a node. An empty one is the zero value.
func decode(path string, data []byte, v any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return damaged(path, err)
	}
	return nil
}

// encode returns the content of a node.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // not possible: it has only numbers and ASCII
		panic(err)
	}
	return data
}
