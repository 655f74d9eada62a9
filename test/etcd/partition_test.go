//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// A partition stands between the members. Each member is reached by the others through a
// proxy.
type partition struct {
	mu       sync.Mutex
	isolated string            // the id of a member that can't reach others, nor be reached; "" for none
	ids      map[string]string // of the members, by the address of their proxy
	conns    map[net.Conn]ends
}

// ends are the ids of the members at both ends of a connection.
type ends struct{ from, to string }

// sender is in the first request of a connection between members.
var sender = regexp.MustCompile(`(?i)\r\nX-Server-From: ([0-9a-f]+)\r\n`)

// stand puts a proxy before the peer address of a member.
func (p *partition) stand(t testing.TB, m *member) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m.advertised = l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, m)
		}
	}()
}

func (p *partition) serve(conn net.Conn, m *member) {
	defer conn.Close()
	start := make([]byte, 0, 4096)
	for !bytes.Contains(start, []byte("\r\n\r\n")) && len(start) < cap(start) {
		n, err := conn.Read(start[len(start):cap(start)])
		if err != nil {
			return
		}
		start = start[:len(start)+n]
	}
	var from string
	if match := sender.FindSubmatch(start); match != nil {
		from = string(match[1])
	}
	server, err := net.Dial("tcp", m.peer)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.track(conn, ends{from, p.id(m)}) {
		return
	}
	if _, err := server.Write(start); err != nil {
		return
	}
	go func() {
		io.Copy(conn, server)
		conn.Close()
	}()
	io.Copy(server, conn)
}

func (p *partition) id(m *member) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[m.advertised]
}

// track reports whether a connection is allowed, and remembers it.
func (p *partition) track(conn net.Conn, e ends) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		p.conns = make(map[net.Conn]ends)
	}
	p.conns[conn] = e
	return !p.cuts(e)
}

func (p *partition) cuts(e ends) bool {
	return p.isolated != "" && (e.from == p.isolated || e.to == p.isolated)
}

// isolate cuts a member off from the others, or none if id is 0. Clients still reach it.
func (p *partition) isolate(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isolated = ""; id != 0 {
		p.isolated = strconv.FormatUint(id, 16)
	}
	for conn, e := range p.conns {
		if e.to == "" || p.cuts(e) {
			conn.Close()
			delete(p.conns, conn)
		}
	}
}

// learn finds out the ids of the members.
func (p *partition) learn(c *cluster) {
	c.t.Helper()
	list, err := c.connect(nil).MemberList(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids = make(map[string]string)
	for _, m := range c.members {
		for _, listed := range list.Members {
			if listed.Name == m.name {
				m.id = listed.ID
				p.ids[m.advertised] = strconv.FormatUint(listed.ID, 16)
			}
		}
	}
}
