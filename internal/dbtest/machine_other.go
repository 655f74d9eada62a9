//go:build !(linux || darwin)

package dbtest

import (
	"errors"
	"os"
	"os/exec"
)

// Private servers aren't supported here, since a warden needs a shell and Unix pipes.
// However, all other ways to get a server work.
func ownedDir(string, bool) (string, func(*exec.Cmd), error) {
	return "", nil, errors.ErrUnsupported
}

func giveTo(string, string) error { return errors.ErrUnsupported }

func locked(f func() error) error { return f() }

func memory() string { return os.TempDir() }
