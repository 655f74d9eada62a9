package dbtest

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A Proxy forwards connections to a server. A test makes it lose a reply or hold a
// request. It does not parse the protocol: it counts the data of one read as one
// request or reply. Drivers send a request in one piece, and servers send a short
// reply in one piece.
//
// A Proxy is safe for concurrent use. [DB.Through] makes one.
type Proxy struct {
	listener net.Listener

	mu               sync.Mutex
	network, address string // where it leads to; empty while it is cut
	conns            map[net.Conn]bool
	lose, keep       *countdown // of replies and of requests; nil if none is awaited
	kept             *line      // whose request is kept back; nil if none is
}

// A countdown ends with the n-th request or reply.
type countdown struct {
	left int
	out  chan struct{} // closed then
}

// Through returns db with a DSN that connects through a proxy. The proxy ends with the
// test.
func (db DB) Through(t TB) (DB, *Proxy) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("dbtest: a proxy: %v", err)
	}
	p := &Proxy{listener: listener, conns: make(map[net.Conn]bool)}
	t.Cleanup(p.close)
	if err := p.Lead(db); err != nil {
		t.Fatalf("%v", err)
	}
	go p.accept()
	e, err := engineOf(db.Dialect)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if db.DSN, err = e.withAddress(db.DSN, listener.Addr().String()); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return db, p
}

// Lead forwards new connections to the server of db. It ends a [Proxy.Cut].
func (p *Proxy) Lead(db DB) error {
	e, err := engineOf(db.Dialect)
	if err != nil {
		return err
	}
	network, address, err := e.addressOf(db.DSN)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.address = network, address
	return nil
}

// Cut closes all connections, and refuses new ones until Lead is called.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.address = "", ""
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *Proxy) close() {
	p.Cut()
	p.Relent()
	p.listener.Close()
}

// LoseReply makes the proxy drop the n-th reply from now on, counting the replies on all
// connections, and close the connection on which it arrived. The returned channel is
// closed when that happens. A new call cancels an earlier one that is still pending. If
// the dropped reply was the last part of the response, the server has already completed
// the request.
func (p *Proxy) LoseReply(n int) (lost <-chan struct{}) {
	c := &countdown{left: n, out: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = c
	return c.out
}

// KeepRequest makes the proxy keep back the n-th request from now on, counting the
// requests on all connections, until Deliver is called. The returned channel is closed
// when that request arrives. A new call cancels an earlier one that is still pending.
// While the proxy keeps a request back, it accepts no connections, so that a driver
// that gives up cannot cancel the request on the server.
func (p *Proxy) KeepRequest(n int) (kept <-chan struct{}) {
	c := &countdown{left: n, out: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = c
	return c.out
}

// Deliver sends the held request to the server, even if its sender has gone. It returns
// when the server has answered.
func (p *Proxy) Deliver() error {
	p.mu.Lock()
	kept := p.kept
	p.deliver()
	p.mu.Unlock()
	if kept == nil {
		return errors.New("dbtest: the proxy has no request to deliver")
	}
	select {
	case <-kept.answered:
		return nil
	case <-time.After(time.Minute):
		return errors.New("dbtest: the server does not answer a late request")
	}
}

// Relent cancels LoseReply and KeepRequest. It sends a held request and does not wait
// for a reply, because some requests have none.
func (p *Proxy) Relent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.keep = nil, nil
	p.deliver()
}

// deliver continues the line that waits in keepBack.
func (p *Proxy) deliver() {
	if p.kept != nil {
		close(p.kept.delivered)
		p.kept = nil
	}
}

// counted reports whether the countdown ends, and then removes it.
func counted(c **countdown) bool {
	if *c == nil {
		return false
	}
	if (*c).left--; (*c).left > 0 {
		return false
	}
	close((*c).out)
	*c = nil
	return true
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

// A line is a connection of a client to the server.
type line struct {
	proxy          *Proxy
	client, server net.Conn

	// The state of the held request, guarded by the proxy's lock.
	delivered, answered chan struct{}
	awaited             bool // whether answered is still to be closed
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	network, address, refuse := p.network, p.address, p.network == "" || p.kept != nil
	p.mu.Unlock()
	if refuse {
		return
	}
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.track(client, server) {
		return
	}
	defer p.untrack(client, server)
	l := &line{proxy: p, client: client, server: server}
	go l.replies()
	l.requests()
}

// track reports false if the proxy is cut.
func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.network == "" {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *Proxy) untrack(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// requests forwards the data of the client. It does not read while it holds a request,
// so it does not notice that the client has gone.
func (l *line) requests() {
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			l.linger()
			return
		}
		l.keepBack()
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// keepBack waits for Deliver if the request is the one to hold.
func (l *line) keepBack() {
	p := l.proxy
	p.mu.Lock()
	if !counted(&p.keep) {
		p.mu.Unlock()
		return
	}
	l.delivered, l.answered, l.awaited = make(chan struct{}), make(chan struct{}), true
	p.kept = l
	p.mu.Unlock()
	<-l.delivered
}

// linger gives the server time to answer a request whose sender has gone.
func (l *line) linger() {
	l.proxy.mu.Lock()
	answered, awaited := l.answered, l.awaited
	l.proxy.mu.Unlock()
	if !awaited {
		return
	}
	select {
	case <-answered:
	case <-time.After(time.Minute):
	}
}

// replies forwards the data of the server.
func (l *line) replies() {
	defer l.client.Close()
	defer l.server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if lost := l.heard(n); err != nil || lost {
			return
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// heard records n bytes of a reply, or the end of the connection, and reports whether
// to lose the reply.
func (l *line) heard(n int) (lost bool) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.awaited {
		close(l.answered)
		l.awaited = false
	}
	return n > 0 && counted(&l.proxy.lose)
}
