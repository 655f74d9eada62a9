package zkstore

import (
	"encoding/json"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// A record is the content of a node. Its readers find out whether the write had an effect
// when it was executed, since a transaction can't check that. A record that a person has
// written has only a text.
type record struct {
	Text   json.RawMessage `json:"text"`
	Before json.RawMessage `json:"before,omitempty"` // the text that was read
	Node   int64           `json:"node,omitempty"`   // the Czxid of the node that was read
	Epoch  int64           `json:"epoch,omitempty"`  // of the era that was current when the node was read
}

// encode returns the content that changes a node's text in an era.
func encode(c kvlease.Change, e *era, stat *zk.Stat) []byte {
	return []byte(kvlease.Encode(record{json.RawMessage(c.New), json.RawMessage(c.Value), stat.Czxid, e.epoch}))
}

// decode returns the text of a node, or "" if it has none.
func decode(path string, a answer) (string, error) {
	if len(a.data) == 0 {
		return "", nil
	}
	var r record
	if err := json.Unmarshal(a.data, &r); err != nil {
		return "", damaged(path, err)
	}
	switch {
	case r.Node == 0 || applies(r.Node, r.Epoch, a.stat):
		return string(r.Text), nil
	case r.Node != a.stat.Czxid:
		return "", nil // we can't know what the write has replaced
	}
	return string(r.Before), nil
}

// applies reports whether a write had an effect, by the node's state after it: not if it
// was meant for a node that was deleted since, or copied; and not if a later leader has
// executed it, because the leaders between them may have lost what the sender had read.
func applies(node, epoch int64, stat *zk.Stat) bool {
	return node == stat.Czxid && epoch == epochOf(stat.Mzxid)
}

// whole returns t with Skew as a whole number of milliseconds. The leader's time has no
// more digits: a lease that has expired Skew ago by one server's clock would otherwise
// not have expired by the clock of a server that is Skew behind.
func whole(t lease.Terms) lease.Terms {
	t.Skew = (t.Skew + 999) / 1000 * 1000
	return t
}

// epochOf returns the epoch of the leader that executed a transaction.
func epochOf(zxid int64) int64 { return zxid >> 32 }
