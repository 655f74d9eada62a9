package zkstore

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/kvlease"
)

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

func (s *Store) children(ctx context.Context, path string) ([]string, error) {
	return wait(ctx, func() ([]string, error) {
		names, _, err := s.conn.Children(path)
		return names, err
	})
}

// create creates an empty node unless it exists.
func (s *Store) create(ctx context.Context, path string) error {
	_, err := wait(ctx, func() (string, error) { return s.conn.Create(path, nil, 0, s.acl) })
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
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

// unescape is the inverse of escape.
func unescape(name string) (string, error) {
	if name == "%" || name == "" {
		return "", nil
	}
	return url.PathUnescape(name)
}
