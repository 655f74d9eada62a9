package zkstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/lease"
)

var pathRule = regexp.MustCompile(`^(/[ -.0-~]+)+$`) // parts of printable ASCII without a slash

// checkPath returns an error unless each part of path can be the name of a node.
func checkPath(path string) error {
	whole := path + "/"
	if !pathRule.MatchString(path) || strings.HasPrefix(whole, "/zookeeper/") || strings.Contains(whole, "/./") || strings.Contains(whole, "/../") {
		return fmt.Errorf("zkstore: %q cannot be a path of nodes; use one such as \"/apps/shop/snowkey\", of printable ASCII, without empty parts, \".\" and \"..\", and not below /zookeeper", path)
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
