package zkstore

import (
	"net"
	"time"
)

// Dialer returns a dialer for [zk.WithDialer] that closes a connection if the server hasn't
// answered within limit. The client then tries another server. Without Dialer, and with a
// session timeout of 10 s, the client waits 67 s for a server that accepts the connection
// but never answers.
//
// The limit should be at least half of the session timeout, because an idle client only
// contacts its server after a third of that timeout.
func Dialer(limit time.Duration) func(network, address string, timeout time.Duration) (net.Conn, error) {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, address, min(timeout, limit))
		if err != nil {
			return nil, err
		}
		return limited{conn, limit}, nil
	}
}

// A limited is a connection whose deadlines are at most limit ahead.
type limited struct {
	net.Conn
	limit time.Duration
}

func (c limited) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.near(t)) }
func (c limited) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.near(t)) }

func (c limited) near(t time.Time) time.Time {
	if most := time.Now().Add(c.limit); t.After(most) {
		return most
	}
	return t
}
