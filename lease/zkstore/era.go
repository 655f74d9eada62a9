package zkstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// An era is the time of one leader, or a part of it. Its name is random, and a node of
// that name exists until the next era begins. Each write checks that this node exists,
// so it has no effect if commits were lost that its sender had read.
type era struct {
	name  string
	epoch int64 // of the leader under which the era began
}

// readEra returns the current era. If another leader has been elected since it began,
// which the epoch of a later transaction shows, readEra begins the next one first.
func (s *Store) readEra(ctx context.Context, zxid int64) (*era, error) {
	path := s.path + "/eras"
	for range attempts {
		a, err := s.get(ctx, path)
		if err != nil {
			return nil, notMigrated(err)
		}
		current := &era{string(a.data), epochOf(a.stat.Mzxid)}
		if current.name != "" && current.epoch >= epochOf(zxid) {
			return current, nil
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
			return nil, err
		}
	}
	return nil, fmt.Errorf("zkstore: %q changed %d times during one call, or its child was deleted by hand; try again, or delete %q and run the migration", path, attempts, path)
}

// clock returns the leader's time, and the id of a transaction that it has executed. The
// leader only tells the time in the answer to a write. Reads that follow on this
// connection return everything that was committed before.
func (s *Store) clock(ctx context.Context) (now, zxid int64, err error) {
	stat, err := wait(ctx, func() (*zk.Stat, error) { return s.conn.Set(s.path+"/clock", nil, -1) })
	if err != nil {
		return 0, 0, notMigrated(err)
	}
	return stat.Mtime * 1000, stat.Mzxid, nil
}
