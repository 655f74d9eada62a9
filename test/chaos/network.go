package chaos

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A network is between the workers and a server, or all members of a cluster. It can be bad.
type network struct {
	proxies []*dbtest.Proxy // one for each address of the server

	loseReplies atomic.Int64 // percentage of replies
	delay       atomic.Int64 // maximum for requests

	away sync.RWMutex // locked while the network is cut
}

func newNetwork(t dbtest.TB, addresses []string) *network {
	t.Helper()
	n := new(network)
	for _, address := range addresses {
		p := dbtest.ProxyTo(t, address)
		p.Answer(func([]byte) ([]byte, bool) { return n.pass(p) })
		n.proxies = append(n.proxies, p)
	}
	return n
}

// lead makes the only proxy lead to another server, and closes all connections to the old
// one. Their requests and replies that are still on the way are lost.
func (n *network) lead(target string) {
	n.proxies[0].Cut()
	n.proxies[0].LeadTo(target)
}

// worsen makes the network lose the given percentage of replies, along with their
// connections, and delay requests by up to delay.
func (n *network) worsen(loseReplies int, delay time.Duration) {
	n.loseReplies.Store(int64(loseReplies))
	n.delay.Store(int64(delay))
}

// cut makes all requests wait until heal is called, and loses every second one.
func (n *network) cut() { n.away.Lock() }

func (n *network) heal() { n.away.Unlock() }

// pass waits for the network if it's cut. An empty reply means that the server gets
// nothing.
func (n *network) pass(p *dbtest.Proxy) (reply []byte, execute bool) {
	lost := false
	if !n.away.TryRLock() {
		n.away.RLock()
		lost = rand.IntN(2) == 0
	}
	n.away.RUnlock()
	if lost {
		return []byte{}, false
	}
	if delay := n.delay.Load(); delay > 0 {
		time.Sleep(rand.N(time.Duration(delay)))
	}
	if rand.Int64N(100) < n.loseReplies.Load() {
		p.LoseReply(1)
	}
	return nil, true
}
