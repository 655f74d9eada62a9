package zkstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// An era is the time of one leader, or a part of it. Its name is random, and a node of
// that name exists until the next era begins. Each write checks that this node exists,
// so it has no effect if commits were lost that its sender had read.
type era struct {
	name  string
	epoch int64 // of the leader under which the era began
}

// readEra returns the leader's time and the current era. The leader only tells the time in
// the answer to a write, and the answer's transaction id has its epoch. If that leader was
// elected since the era began, readEra begins the next one first. Reads that follow on this
// connection return everything that was committed before.
func (s *Store) readEra(ctx context.Context) (now int64, e *era, err error) {
	clock, err := wait(ctx, func() (*zk.Stat, error) { return s.conn.Set(s.path+"/clock", nil, -1) })
	if err != nil {
		return 0, nil, err
	}
	path := s.path + "/eras"
	for range attempts {
		a, err := s.get(ctx, path)
		if err != nil {
			return 0, nil, err
		}
		current := &era{string(a.data), epochOf(a.stat.Mzxid)}
		if current.name != "" && current.epoch >= epochOf(clock.Mzxid) {
			return clock.Mtime * 1000, current, nil
		}
		next := rand.Text()
		ops := []any{
			&zk.SetDataRequest{Path: path, Data: []byte(next), Version: a.stat.Version},
			&zk.CreateRequest{Path: path + "/" + next, Acl: s.acl},
		}
		if current.name != "" {
			ops = append(ops, &zk.DeleteRequest{Path: path + "/" + current.name, Version: -1})
		}
		if _, _, err := s.write(ctx, ops...); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, fmt.Errorf("zkstore: %q changed %d times during one call, or its child was deleted by hand; try again, or delete %q and run the migration", path, attempts, path)
}

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
func encode(before, text string, e *era, stat *zk.Stat) []byte {
	return []byte(kvlease.Encode(record{json.RawMessage(text), json.RawMessage(before), stat.Czxid, e.epoch}))
}

// decode returns the text of a node, or "" if it has none.
func decode(path string, a answer) (string, error) {
	if len(a.data) == 0 {
		return "", nil
	}
	var r record
	if err := json.Unmarshal(a.data, &r); err != nil {
		return "", &lease.PermanentError{
			Err:    fmt.Errorf("zkstore: the content of the node %q is not one of Snowkey's: %w", path, err),
			Remedy: "restore it, or keep the leases in another path",
		}
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
