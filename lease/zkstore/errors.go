package zkstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/lease"
)

// checkPath returns an error unless each part of path can be the name of a node.
func checkPath(path string) error {
	refuse := func(reason string) error {
		return fmt.Errorf("zkstore: %q is not a path for leases: %s; use one such as \"/apps/shop/snowkey\"", path, reason)
	}
	parts := strings.Split(path, "/")
	if parts[0] != "" || len(parts) < 2 {
		return refuse("it does not begin with a slash")
	}
	for i, part := range parts[1:] {
		switch {
		case part == "" || part == "." || part == "..":
			return refuse(fmt.Sprintf("it has the part %q", part))
		case i == 0 && part == "zookeeper":
			return refuse("\"/zookeeper\" is reserved")
		}
		for _, c := range part {
			if c < ' ' || c > '~' {
				return refuse(fmt.Sprintf("it has the character %q", c))
			}
		}
	}
	return nil
}

// damaged returns the error for a node that this package has not written.
func damaged(path string, err error) error {
	return &lease.PermanentError{
		Err:    fmt.Errorf("zkstore: the content of the node %q is not one of Snowkey's: %w", path, err),
		Remedy: "restore it, or keep the leases in another path",
	}
}

// explain turns errors that a retry can't fix into a [*lease.PermanentError].
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoAuth):
		return &lease.PermanentError{Err: fmt.Errorf("zkstore: %w", err),
			Remedy: "allow this client to read, write, create and delete nodes in the store's path, or call AddAuth on the connection first"}
	case errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return &lease.PermanentError{Err: fmt.Errorf("zkstore: %w", err),
			Remedy: "check the credentials given to AddAuth and the list given to WithACL"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("zkstore: %w", err)
}
