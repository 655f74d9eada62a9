package zkstore

import (
	"net"
	"time"
)

// Dialer returns a dialer for [zk.WithDialer] that gives up a server which accepts a
// connection and then does not answer for as long as limit. By default, the client waits
// for 67 s with a session timeout of 10 s, though another server would answer. The limit
// should be half of the session timeout or more, since the client pings a server after a
// third of it.
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
