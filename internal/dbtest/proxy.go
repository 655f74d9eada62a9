package dbtest

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A Proxy leads connections to a server, and loses or keeps back what is said on
// them, as a test demands. It understands nothing of that: what it counts as a
// request or a reply is what it reads at once. Drivers send a request in one
// piece, and servers a short reply.
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

// A countdown runs out with the n-th of something.
type countdown struct {
	left int
	out  chan struct{} // closed then
}

// Through returns db with a DSN that leads through a proxy, which ends with the
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

// Lead has further connections lead to the server of db. It mends a [Proxy.Cut].
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

// Cut ends all connections, and refuses others until Lead is called.
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

// LoseReply loses the n-th reply from now, counted over all connections, and ends
// its connection. It returns a channel that is closed then, and replaces an
// earlier call that was not. The server has done by then what it was asked, if
// that reply was the last to the request.
func (p *Proxy) LoseReply(n int) (lost <-chan struct{}) {
	c := &countdown{left: n, out: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = c
	return c.out
}

// KeepRequest keeps back the n-th request from now, counted over all connections,
// until Deliver is called. It returns a channel that is closed when there is
// something to deliver, and replaces an earlier call for which there was not.
// While a request is kept, no connection is accepted: a driver that gives up
// must not have the server forget about it.
func (p *Proxy) KeepRequest(n int) (kept <-chan struct{}) {
	c := &countdown{left: n, out: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = c
	return c.out
}

// Deliver sends the request that is kept to the server, whether its sender waits
// or not, and returns when the server has answered.
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

// Relent takes LoseReply and KeepRequest back. It sends a request that is kept,
// and does not wait for an answer: not every request has one.
func (p *Proxy) Relent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.keep = nil, nil
	p.deliver()
}

// deliver lets the line go on that waits in keepBack.
func (p *Proxy) deliver() {
	if p.kept != nil {
		close(p.kept.delivered)
		p.kept = nil
	}
}

// counted reports whether the countdown runs out, and forgets it then.
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

	// Of the request that is kept back; guarded by the proxy's lock.
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

// track reports false if the proxy was cut in the meantime.
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

// requests passes on what the client sends. It does not read while it keeps
// something back, and so does not see that the client has gone.
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

// keepBack waits for Deliver if the request that was read is to be kept.
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

// replies passes on what the server sends.
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

// heard takes note of n bytes of reply, or of the connection's end, and reports
// whether the reply is to be lost.
func (l *line) heard(n int) (lost bool) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.awaited {
		close(l.answered)
		l.awaited = false
	}
	return n > 0 && counted(&l.proxy.lose)
}
