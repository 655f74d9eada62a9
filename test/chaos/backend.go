//go:build unix

package chaos

import (
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// A backend is a kind of store that the chaos test runs on. Each one has a file of its
// own, and an entry in backends.
type backend struct {
	// name is the name in SNOWKEY_TEST_DB.
	name string

	// open opens the store that text names. It runs in the worker processes. text is the
	// server's text, with the addresses of proxies. clock is the clock of the process.
	open func(text string, clock func() time.Time) (lease.Store, error)

	// start starts a server or a cluster that ends with t. Everything that it commits is
	// on the disk, unless volatile is set.
	start func(t dbtest.TB) server

	// volatile is set if the store may lose commits. Each claim then holds off, so a
	// process starts later, and layouts of days are refused.
	volatile bool

	// fencesOften is set if faults that lose no commits change the fingerprint. A lease of
	// a layout of days would then start on the next day.
	fencesOften bool
}

// backends are the kinds of store that the chaos test runs on. At night there are more.
var backends = []backend{postgres, mysql, mysqlCluster}

// A server is a running server or cluster, and the harm that can be done to it.
type server struct {
	text      string   // names the store for open; may contain a password
	addresses []string // host and port of each member, as in text

	// kill ends the server as kill -9 does, and start starts it again and waits until it
	// answers. In a cluster, it should be the member on which the others depend most. They
	// are nil if more has faults of each member.
	kill, start func() error

	// stop and resume are SIGSTOP and SIGCONT. They are nil if a server can't be stopped
	// as a whole.
	stop, resume func() error

	// setClock sets how far the clock is ahead of this host's. It is nil if the store has
	// no clock, or if it can't be set.
	setClock func(ahead time.Duration) error

	// more has the faults of this backend alone.
	more []harm
}

// A harm is a fault that only one kind of backend can have, such as a failover.
type harm struct {
	name string
	// begin does it. A failover, for example, lets the network lead to another server.
	begin func(net *network) error
	lasts time.Duration
	end   func(net *network) error // undoes it; nil if there is nothing to undo
	// newClients is set if the server refuses the clients that it had before.
	newClients bool
}

func backendOf(name string) (backend, bool) {
	for _, b := range backends {
		if b.name == name {
			return b, true
		}
	}
	return backend{}, false
}
