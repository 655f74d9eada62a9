package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ListenAndServe serves handler at addr until ctx ends. After that it accepts no more
// connections, gives requests in progress 15 s to finish, and returns nil. The caller
// should then close the pool to give the worker number back. If started isn't nil,
// ListenAndServe calls it with the address as soon as the service listens.
//
// Set guarded if the handler asks for tokens. Unless guarded is set or config asks for
// client certificates, ListenAndServe refuses addresses beyond the loopback interface. If
// config is nil, it serves plain HTTP. In that case you should put a proxy with TLS in
// front of it, because anybody on the network could read the tokens otherwise.
//
// ListenAndServe returns a [*ConfigError], or an error of the listener.
func ListenAndServe(ctx context.Context, addr string, handler http.Handler, guarded bool, config *tls.Config, started func(net.Addr)) error {
	resolved, err := resolve(addr, guarded, config)
	if err != nil {
		return err
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return fmt.Errorf("service: %w", err)
	}
	server := &http.Server{
		Handler: handler, TLSConfig: config,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	if started != nil {
		started(listener.Addr())
	}
	ended := make(chan error, 1)
	go func() {
		if config != nil {
			ended <- server.ServeTLS(listener, "", "")
		} else {
			ended <- server.Serve(listener)
		}
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("service: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return fmt.Errorf("service: some requests had not ended after 15 s: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// CheckAddr reports the [*ConfigError] that [ListenAndServe] would return for an address,
// so that a program can check it before it leases a worker number.
func CheckAddr(addr string, guarded bool, config *tls.Config) error {
	_, err := resolve(addr, guarded, config)
	return err
}

func resolve(addr string, guarded bool, config *tls.Config) (*net.TCPAddr, error) {
	guarded = guarded || config != nil && config.ClientAuth == tls.RequireAndVerifyClientCert
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, &ConfigError{fmt.Sprintf("the address %q cannot be resolved: %v", addr, err)}
	}
	if !guarded && !resolved.IP.IsLoopback() {
		return nil, &ConfigError{fmt.Sprintf("%s can be reached from other machines, and the service would hand out ids to everybody; set tokens or require client certificates, or listen at 127.0.0.1", addr)}
	}
	return resolved, nil
}
