package zkstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// remedies are the errors of ZooKeeper that a retry can't fix.
var remedies = map[error]string{
	zk.ErrNoAuth:     "allow this client to read, write, create and delete nodes in the store's path, or call AddAuth on the connection first",
	zk.ErrAuthFailed: "check the credentials given to AddAuth and the list given to WithACL",
	zk.ErrInvalidACL: "check the credentials given to AddAuth and the list given to WithACL",
}

// explain adds to an error that it comes from ZooKeeper. Callers that don't expect a node to
// be missing find out that the store is not migrated.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w: %w", lease.ErrNotMigrated, err)
	}
	return kvlease.Explain("zkstore", err, remedies)
}

// An answer is what the server returned for a read of a node.
type answer struct {
	data []byte
	stat *zk.Stat
}

// wait returns what call returns, unless ctx ends first.
func wait[T any](ctx context.Context, call func() (T, error)) (T, error) {
	value, err := kvlease.Await(ctx, call)
	return value, explain(err)
}

func (s *Store) get(ctx context.Context, path string) (answer, error) {
	return wait(ctx, func() (answer, error) {
		data, stat, err := s.conn.Get(path)
		return answer{data, stat}, err
	})
}

// create creates empty nodes unless they exist.
func (s *Store) create(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		_, err := wait(ctx, func() (string, error) { return s.conn.Create(path, nil, 0, s.acl) })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// write executes ops in one transaction and returns the stats of the nodes that they
// set. conflict is set if the transaction had no effect, because a node was not as
// expected.
func (s *Store) write(ctx context.Context, ops ...any) (stats []*zk.Stat, conflict bool, err error) {
	answers, err := wait(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(ops...) })
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNotEmpty) {
		return nil, true, nil
	}
	for _, a := range answers {
		if a.Stat != nil {
			stats = append(stats, a.Stat)
		}
	}
	return stats, false, err
}

// escape returns a name that a node can have, and that no other text has.
func escape(text string) string {
	switch text {
	case "":
		return "%"
	case ".", "..":
		return strings.Replace(text, ".", "%2E", 1)
	}
	return url.PathEscape(text)
}

var pathRule = regexp.MustCompile(`^(/[ -.0-~]+)+$`) // parts of printable ASCII without a slash

// checkPath returns an error unless each part of path can be the name of a node.
func checkPath(path string) error {
	whole := path + "/"
	if !pathRule.MatchString(path) || strings.HasPrefix(whole, "/zookeeper/") || strings.Contains(whole, "/./") || strings.Contains(whole, "/../") {
		return fmt.Errorf("zkstore: %q cannot be a path of nodes; use one such as \"/apps/shop/snowkey\", of printable ASCII, without empty parts, \".\" and \"..\", and not below /zookeeper", path)
	}
	return nil
}
