package main

import (
	"context"
	"net"
	"time"
)

// A dial opens a connection, for either of the drivers.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// delayed returns a dial whose connections delay everything that they send by d, which
// makes every round trip take that much longer.
func delayed(dial dial, d time.Duration) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return delayedConn{conn, d}, nil
	}
}

type delayedConn struct {
	net.Conn
	delay time.Duration
}

// Write sleeps just once per round trip as long as the data has no more than a few
// kilobytes, because drivers then send it with a single call.
func (c delayedConn) Write(p []byte) (int, error) {
	time.Sleep(c.delay)
	return c.Conn.Write(p)
}
