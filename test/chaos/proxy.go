package chaos

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A proxy sits between the workers and a server, and can behave like a bad network.
type proxy struct {
	listener net.Listener

	loseReplies atomic.Int64 // percentage of replies
	delay       atomic.Int64 // maximum for requests

	mu     sync.Mutex
	target string
	healed chan struct{} // closed unless the network is currently cut
	closed bool
	conns  map[net.Conn]bool
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, healed: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(p.healed)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p, nil
}

// lead makes the proxy lead to another server, and closes all connections to the old one.
// Their requests and replies that are still on the way are lost.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
}

// worsen makes the proxy lose the given percentage of replies, along with their
// connections, and delay requests by up to delay.
func (p *proxy) worsen(loseReplies int, delay time.Duration) {
	p.loseReplies.Store(int64(loseReplies))
	p.delay.Store(int64(delay))
}

// cut makes all packets wait or get lost until heal is called.
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

// pass waits for the network if it's cut, and reports whether it was there all along.
func (p *proxy) pass() bool {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	select {
	case <-healed:
		return true
	default:
		<-healed
		return false
	}
}

// track makes sure that close closes c.
func (p *proxy) track(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	if p.closed {
		c.Close()
	}
}

func (p *proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) serve(client net.Conn) {
	p.track(client)
	defer p.drop(client)
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	p.track(server)
	defer p.drop(server)
	go p.replies(client, server)
	p.requests(client, server)
}

// requests forwards what the client sends. It only stops after the last of that, so a
// late request still arrives even if the client has already given up.
func (p *proxy) requests(client, server net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if !p.pass() && rand.IntN(2) == 0 {
			return // lose the request
		}
		if delay := p.delay.Load(); delay > 0 {
			time.Sleep(rand.N(time.Duration(delay)))
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// replies forwards what the server sends.
func (p *proxy) replies(client, server net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			client.Close()
			return
		}
		p.pass()
		if rand.Int64N(100) < p.loseReplies.Load() {
			client.Close()
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return // the client is gone, though its request may still be on its way
		}
	}
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
