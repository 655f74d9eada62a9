package dbtest

import (
	"math/rand/v2"
	"net"
	"sync"
)

// A Proxy forwards connections to a server, and can lose a reply or change requests when a
// test asks for it. It doesn't parse the protocol, and simply counts the data of one read as
// one reply. This works because servers send short replies in one piece, as drivers do with
// requests.
//
// A Proxy is safe for concurrent use. Use [DB.Through] to create one.
type Proxy struct {
	listener net.Listener

	mu      sync.Mutex
	servers []string // the addresses; empty while the proxy is cut
	conns   map[net.Conn]bool
	losing  int                                               // the reply that is lost, counted down, or 0
	lost    chan struct{}                                     // closed when that has happened
	answer  func(request []byte) (reply []byte, execute bool) // or nil
}

// Through returns db with a DSN that connects through a new proxy, which ends with the
// test.
func (db DB) Through(t TB) (DB, *Proxy) {
	t.Helper()
	p := ProxyTo(t, "")
	p.Lead(db)
	return db.At(p.Address()), p
}

// ProxyTo returns a new proxy to the server at a TCP address. It ends with the test.
func ProxyTo(t TB, address string) *Proxy {
	t.Helper()
	listener := Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &Proxy{listener: listener, conns: make(map[net.Conn]bool)}
	p.LeadTo(address)
	t.Cleanup(func() {
		p.Cut()
		listener.Close()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// Address returns the TCP address on which the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// LeadTo forwards new connections to the server at a TCP address. Call it to end a
// [Proxy.Cut], or to lead clients to another server. If there are several addresses, the
// proxy forwards each connection to a random one that accepts it, like a load balancer.
func (p *Proxy) LeadTo(addresses ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers = addresses
}

// Lead is like [Proxy.LeadTo], with databases of the servers.
func (p *Proxy) Lead(dbs ...DB) {
	var addresses []string
	for _, db := range dbs {
		addresses = append(addresses, engineOf(db.Dialect).addressOf(db.DSN))
	}
	p.LeadTo(addresses...)
}

// Cut closes all connections and refuses new ones until [Proxy.LeadTo] is called.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers = nil
	for c := range p.conns {
		c.Close()
	}
}

// LoseReply makes the proxy drop the n-th reply from now on, counted across all
// connections, and close the connection on which the reply arrived. The returned
// channel is closed when that happens. A new call replaces an earlier one that is still
// pending.
//
// If the dropped reply was the last part of the response, the server has already
// completed the request.
func (p *Proxy) LoseReply(n int) (lost <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing, p.lost = n, make(chan struct{})
	return p.lost
}

// loses counts one reply, and reports whether it is the one to lose.
func (p *Proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.losing == 0 {
		return false
	}
	if p.losing--; p.losing > 0 {
		return false
	}
	close(p.lost)
	return true
}

// Edit calls f with each request from now on. It may change the request, but not its
// length. f must be safe for concurrent use. A new call replaces an earlier one, also of
// [Proxy.Answer].
func (p *Proxy) Edit(f func(request []byte)) {
	p.Answer(func(request []byte) ([]byte, bool) { f(request); return nil, true })
}

// Answer is like [Proxy.Edit], but if f returns a reply, the client gets it instead of the
// server's reply. execute is whether the server gets the request.
func (p *Proxy) Answer(f func(request []byte) (reply []byte, execute bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	servers := p.servers
	p.mu.Unlock()
	for _, i := range rand.Perm(len(servers)) {
		server, err := net.Dial("tcp", servers[i])
		if err != nil {
			continue
		}
		defer server.Close()
		p.mu.Lock()
		cut := len(p.servers) == 0
		if !cut {
			p.conns[client], p.conns[server] = true, true
		}
		p.mu.Unlock()
		if cut {
			return
		}
		instead := make(chan []byte, 1)
		go p.replies(client, server, instead)
		p.requests(client, server, instead)
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
		return
	}
}

// requests forwards the client's data. It sends what the client gets instead of the next
// reply.
func (p *Proxy) requests(client, server net.Conn, instead chan []byte) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		reply, execute := []byte(nil), true
		if answer != nil {
			reply, execute = answer(buf[:n])
		}
		if reply != nil && !execute {
			if _, err := client.Write(reply); err != nil {
				return
			}
			continue
		}
		select {
		case <-instead: // that the server has not replied to
		default:
		}
		if reply != nil {
			instead <- reply
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// replies forwards the server's data.
func (p *Proxy) replies(client, server net.Conn, instead <-chan []byte) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		reply := buf[:n]
		select {
		case reply = <-instead:
		default:
		}
		if err != nil || p.loses() {
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}
