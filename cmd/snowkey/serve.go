package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/service"
)

func (a *app) serveCommand() *cobra.Command {
	var l leases
	var cfg service.Config
	var addr, tokens, cert, key, clientCA string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Hand out ids over HTTP, for programs in other languages",
		Long: `Serve leases a worker number like every process, and hands out ids over HTTP and JSON. Start
as many as you like: they don't need to know each other. It listens beyond 127.0.0.1 only
with tokens or client certificates. On SIGTERM it ends the requests in progress and gives
the worker number back. /v1/openapi.yaml describes the interface.`,
		Example: `  snowkey serve
  snowkey serve --addr :8080 --token-file tokens.txt --namespace orders --rate 1000`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.Tokens, err = readTokens(tokens); err != nil {
				return err
			}
			config, err := tlsConfig(cert, key, clientCA)
			if err != nil {
				return err
			}
			// An address that can't be served should not cost a lease.
			guarded := len(cfg.Tokens) > 0
			if err := service.CheckAddr(addr, guarded, config); err != nil {
				return err
			}
			return a.serve(cmd.Context(), &l, cfg, addr, guarded, config)
		},
	}
	l.register(a, cmd, "default", "the `namespace` of the ids")
	l.registerConfig(cmd)
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", "127.0.0.1:8080", "the `address` to listen at")
	flags.StringVar(&tokens, "token-file", "", "a `file` with the bearer tokens that are accepted, one per line")
	flags.StringVar(&cert, "tls-cert", "", "a `file` with the certificate of the service, for HTTPS")
	flags.StringVar(&key, "tls-key", "", "a `file` with the key of the certificate")
	flags.StringVar(&clientCA, "client-ca", "", "a `file` with certificates; clients need one that they have signed")
	flags.IntVar(&cfg.MaxBatch, "max-batch", 10_000, "the largest `number` of ids for one request")
	flags.Float64Var(&cfg.Rate, "rate", 0, "the largest `number` of requests for ids per second (default no limit)")
	return cmd
}

func (a *app) serve(ctx context.Context, l *leases, cfg service.Config, addr string, guarded bool, config *tls.Config) (err error) {
	s, end, err := l.open(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	ids, err := l.configure(ctx, s)
	if err != nil && !errors.Is(err, lease.ErrNoNamespace) && !errors.Is(err, lease.ErrNotMigrated) {
		return err
	}
	ids.Logger = slog.New(slog.NewTextHandler(a.stderr, nil))
	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	pool, err := snowkey.Open(start, s, ids)
	if err != nil {
		return err
	}
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, pool.Close(release))
	}()
	cfg.Store, cfg.Namespace = s, l.namespace
	handler, err := service.NewHandler(pool, cfg)
	if err != nil {
		return err
	}
	return service.ListenAndServe(ctx, addr, handler, guarded, config, func(at net.Addr) {
		scheme := "http"
		if config != nil {
			scheme = "https"
		}
		number, _ := pool.Worker()
		fmt.Fprintf(a.stdout, "ids of namespace %q at %s://%s/v1/ids, with worker number %d\n", l.namespace, scheme, at, number)
	})
}

// readTokens reads one token per line.
func readTokens(path string) (tokens []string, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if token := strings.TrimSpace(line); token != "" {
			tokens = append(tokens, token)
		}
	}
	if len(tokens) == 0 {
		return nil, &usageError{fmt.Sprintf("%s has no token; write one per line, for instance with openssl rand -hex 16", path)}
	}
	return tokens, nil
}

func tlsConfig(cert, key, clientCA string) (*tls.Config, error) {
	switch {
	case cert == "" && key == "" && clientCA == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, &usageError{"HTTPS needs both --tls-cert and --tls-key"}
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clientCA != "" {
		text, err := os.ReadFile(clientCA)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates of clients: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, &usageError{clientCA + " has no certificate in PEM form"}
		}
	}
	return config, nil
}
