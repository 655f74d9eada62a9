//go:build nightly && unix

package chaos

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// An ensemble is a cluster with a leader, to which faults happen.
type ensemble struct {
	members []*dbtest.Process
	leader  func() (*dbtest.Process, error) // waits until there is one
	ready   func() error                    // waits until the cluster commits writes
	struck  *dbtest.Process                 // the leader that was killed or stopped last
}

func (e *ensemble) server(more ...harm) server {
	var addresses []string
	for _, m := range e.members {
		addresses = append(addresses, m.Address)
	}
	return server{
		text: strings.Join(addresses, ","), addresses: addresses, more: more,
		kill:   func() error { return e.strike((*dbtest.Process).Kill) },
		start:  func() error { return errors.Join(e.struck.Start(), e.ready()) },
		stop:   func() error { return e.strike(stopped) },
		resume: func() error { return errors.Join(e.struck.Signal(syscall.SIGCONT), e.ready()) },
	}
}

func stopped(m *dbtest.Process) error { return m.Signal(syscall.SIGSTOP) }

// strike does something to the leader.
func (e *ensemble) strike(do func(*dbtest.Process) error) (err error) {
	if e.struck, err = e.leader(); err == nil {
		err = do(e.struck)
	}
	return err
}

// restart kills all members, runs a script with the folder of each, and that of the first,
// and starts them.
func (e *ensemble) restart(script string) (err error) {
	for _, m := range e.members {
		if m.Runs() {
			err = errors.Join(err, m.Kill())
		}
	}
	for _, m := range e.members {
		err = errors.Join(err, exec.Command("sh", "-c", script, m.Dir, e.members[0].Dir).Run(), m.Start())
	}
	return errors.Join(err, e.ready())
}

// older restores all members from a copy that copied makes.
func (e *ensemble) older(copied func() error, restore string) harm {
	return harm{name: "all members restored from an older copy", begin: func(*network) error {
		if err := copied(); err != nil {
			return err
		}
		time.Sleep(700 * time.Millisecond) // what the cluster commits now is lost
		return e.restart(restore)
	}}
}
