package chaos

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A proxy sits between the workers and a server, and can behave like a bad network.
type proxy struct {
	*dbtest.Proxy

	loseReplies atomic.Int64 // percentage of replies
	delay       atomic.Int64 // maximum for requests

	mu     sync.Mutex
	healed chan struct{} // closed unless the network is currently cut
}

func newProxy(t dbtest.TB, target string) *proxy {
	t.Helper()
	p := &proxy{Proxy: dbtest.ProxyTo(t, target), healed: make(chan struct{})}
	close(p.healed)
	p.Answer(p.pass)
	return p
}

// lead makes the proxy lead to another server, and closes all connections to the old one.
// Their requests and replies that are still on the way are lost.
func (p *proxy) lead(target string) {
	p.Cut()
	p.LeadTo(target)
}

// worsen makes the proxy lose the given percentage of replies, along with their
// connections, and delay requests by up to delay.
func (p *proxy) worsen(loseReplies int, delay time.Duration) {
	p.loseReplies.Store(int64(loseReplies))
	p.delay.Store(int64(delay))
}

// cut makes all requests wait until heal is called, and loses every second one.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.healed = make(chan struct{})
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.healed)
}

// pass waits for the network if it's cut. An empty reply means that the server gets
// nothing.
func (p *proxy) pass([]byte) (reply []byte, execute bool) {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	select {
	case <-healed:
	default:
		<-healed
		if rand.IntN(2) == 0 {
			return []byte{}, false
		}
	}
	if delay := p.delay.Load(); delay > 0 {
		time.Sleep(rand.N(time.Duration(delay)))
	}
	if rand.Int64N(100) < p.loseReplies.Load() {
		p.LoseReply(1)
	}
	return nil, true
}

// A network is the proxies in front of all members of a cluster, or of a single server.
type network []*proxy

func (n network) cut() {
	for _, p := range n {
		p.cut()
	}
}

func (n network) heal() {
	for _, p := range n {
		p.heal()
	}
}

func (n network) worsen(loseReplies int, delay time.Duration) {
	for _, p := range n {
		p.worsen(loseReplies, delay)
	}
}
