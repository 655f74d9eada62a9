package main

import (
	"context"
	"net"
	"time"
)

// dial is how both drivers open a connection.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// delayed returns a dial whose connections send everything later by d. What
// needs one round trip more takes d more.
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

// Write is called once for all that a program sends before it waits for the
// answer, as long as that is a few kilobytes.
func (c delayedConn) Write(p []byte) (int, error) {
	time.Sleep(c.delay)
	return c.Conn.Write(p)
}
