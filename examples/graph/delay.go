package main

import (
	"context"
	"net"
	"time"
)

// A dial opens a connection for either driver.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// delayed returns a dial whose connections delay all data that they send by d. Each
// further round trip then takes d longer.
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

// Drivers call Write once for all data of a round trip, if these are a few kilobytes.
func (c delayedConn) Write(p []byte) (int, error) {
	time.Sleep(c.delay)
	return c.Conn.Write(p)
}
