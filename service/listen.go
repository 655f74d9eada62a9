package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// maxConns limits the connections of clients, so that they can't use up the files that the
// process may open. Further ones wait.
const maxConns = 4096

// ListenAndServe serves handler at addr until ctx ends. It then stops accepting
// connections and gives requests in progress 15 s to finish. It returns nil if they did,
// or an error if some had to be cut off. Close the pool after that to give the worker
// number back. If started isn't nil, it's called with the address as soon as the service
// is listening.
//
// Set guarded if the handler asks for tokens. Unless guarded is set or config asks for
// client certificates, ListenAndServe refuses addresses other than loopback, and requests
// whose Host header names anything else. (A web page can point its own name at 127.0.0.1,
// and would then have the same origin as the service.) If config is nil, it serves plain
// HTTP. You should put a TLS proxy in front of it in that case, or anybody on the network
// could read the tokens.
func ListenAndServe(ctx context.Context, addr string, handler http.Handler, guarded bool, config *tls.Config, started func(net.Addr)) error {
	guarded = guarded || asksForCertificates(config)
	resolved, err := resolve(addr, guarded)
	if err != nil {
		return err
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return fmt.Errorf("service: %w", err)
	}
	if started != nil {
		started(listener.Addr())
	}
	if !guarded {
		handler = onlyLoopback(handler)
	}
	return serve(ctx, netutil.LimitListener(listener, maxConns), handler, config)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler, config *tls.Config) error {
	server := &http.Server{
		Handler: handler, TLSConfig: config,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
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

// onlyLoopback refuses requests for other hosts than this one.
func onlyLoopback(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLoopback(r.Host) {
			handler.ServeHTTP(w, r)
			return
		}
		write(w, &problem{status: http.StatusMisdirectedRequest, Code: "wrong_host", Message: "without tokens, the service answers only requests whose Host is localhost or a loopback address"})
	})
}

func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// CheckAddr reports the error that [ListenAndServe] would return for an address, so that
// a program can check it before leasing a worker number.
func CheckAddr(addr string, guarded bool, config *tls.Config) error {
	_, err := resolve(addr, guarded || asksForCertificates(config))
	return err
}

func asksForCertificates(config *tls.Config) bool {
	return config != nil && config.ClientAuth == tls.RequireAndVerifyClientCert
}

func resolve(addr string, guarded bool) (*net.TCPAddr, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("service: the address %q cannot be resolved: %v", addr, err)
	}
	if !guarded && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("service: %s can be reached from other machines, and the service would hand out ids to everybody; set tokens or require client certificates, or listen at 127.0.0.1", addr)
	}
	return resolved, nil
}
