package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/metrics/snowkeyprom"
	"github.com/snowkey-go/snowkey/service"
)

// A serving is a call of the command serve.
type serving struct {
	*app
	leases
	cfg               service.Config
	addr, metricsAddr string
	files             secretFiles
}

func (a *app) serveCommand() *cobra.Command {
	s := serving{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Hand out ids over HTTP, for programs in other languages",
		Long: `Serve leases a worker number like every process, and hands out ids over HTTP and JSON. Start
as many as you like: they don't need to know each other. It listens beyond 127.0.0.1 only
with tokens or client certificates. On SIGTERM it ends the requests in progress and gives
the worker number back. It reads the files of tokens and certificates again when they
change, at once on SIGHUP. /v1/openapi.yaml describes the interface.

Each flag can be an environment variable instead: --token-file is SNOWKEY_TOKEN_FILE.`,
		Example: `  snowkey serve
  snowkey serve --addr :8080 --token-file tokens.txt --namespace orders --rate 100000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.readEnvironment(cmd.Flags()); err != nil {
				return err
			}
			return s.run(cmd.Context())
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.Contains(err.Error(), ": --listen") { // its name in other programs
			return &usageError{"unknown flag: --listen; the address to listen at is --addr"}
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
	s.leases.register(a, cmd, "default", "the `namespace` of the ids")
	s.registerConfig(cmd)
	flags := cmd.Flags()
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "the `address` to listen at")
	flags.StringVar(&s.metricsAddr, "metrics-addr", "", "an `address` for /metrics of Prometheus, which needs no token (default none)")
	flags.StringVar(&s.files.tokens, "token-file", "", "a `file` with the bearer tokens that are accepted, one per line, which others can't read")
	flags.StringVar(&s.files.cert, "tls-cert", "", "a `file` with the certificate of the service, for HTTPS")
	flags.StringVar(&s.files.key, "tls-key", "", "a `file` with the key of the certificate")
	flags.StringVar(&s.files.clientCA, "client-ca", "", "a `file` with certificates; clients need one that they have signed")
	flags.IntVar(&s.cfg.MaxBatch, "max-batch", 10_000, "the largest `number` of ids for one request")
	flags.Float64Var(&s.cfg.Rate, "rate", 0, "the largest `number` of ids per second (default no limit)")
	return cmd
}

// readEnvironment sets the flags that the user has left out from environment variables.
// Another function reads SNOWKEY_DSN.
func (a *app) readEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "SNOWKEY_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := a.getenv(name)
		if err != nil || value == "" || f.Changed || f.Name == "dsn" {
			return
		}
		if wrong := flags.Set(f.Name, value); wrong != nil {
			err = &usageError{fmt.Sprintf("the environment variable %s: %v", name, wrong)}
		}
	})
	return err
}

func (s *serving) run(ctx context.Context) (err error) {
	// Without this, SIGHUP would end the process, and its worker number would stay leased.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	seen := s.files.read()
	tokens, config, err := seen.parse()
	if err != nil {
		return err
	}
	// An address that can't be served should not cost a lease.
	if err := service.CheckAddr(s.addr, len(tokens) > 0, config); err != nil {
		return err
	}
	store, end, err := s.open(s.app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	ids, err := s.configure(ctx, store)
	if err != nil && !isNew(err) {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.stderr, nil))
	ids.Logger, ids.Label = log, serveLabel(s.addr)
	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	pool, err := snowkey.Open(start, store, ids)
	if err != nil {
		return err
	}
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, pool.Close(release))
	}()

	s.cfg.Store, s.cfg.Namespace = store, s.namespace
	return s.serve(ctx, pool, seen, tokens, config, hup, log)
}

// serve hands out the ids of the pool until ctx ends. It begins with these contents of the
// files, and reads the files again when they change.
func (s *serving) serve(ctx context.Context, pool *idgen.Pool, seen contents, tokens []string, config *tls.Config, hup <-chan os.Signal, log *slog.Logger) error {
	type settings struct {
		http.Handler
		config *tls.Config
	}
	var current atomic.Pointer[settings]
	use := func(tokens []string, config *tls.Config) error {
		cfg := s.cfg
		cfg.Tokens = tokens
		h, err := service.NewHandler(pool, cfg)
		if err == nil {
			current.Store(&settings{h, config})
		}
		return err
	}
	if err := use(tokens, config); err != nil {
		return err
	}
	if config != nil {
		config = config.Clone()
		config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return current.Load().config, nil }
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.files.follow(ctx, seen, hup, use, log)
	if s.metricsAddr != "" {
		if err := s.serveMetrics(ctx, pool); err != nil {
			return err
		}
	}
	latest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) })
	return service.ListenAndServe(ctx, s.addr, latest, len(tokens) > 0, config, func(at net.Addr) {
		scheme := "http"
		if config != nil {
			scheme = "https"
		}
		number, _ := pool.Worker()
		fmt.Fprintf(s.stdout, "ids of namespace %q at %s://%s/v1/ids, with worker number %d\n", s.namespace, scheme, at, number)
	})
}

// serveLabel names this process in the list of worker numbers. Several may run on a host.
func serveLabel(addr string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("serve %s on %s, process %d", addr, host, os.Getpid())
}

// serveMetrics serves the metrics of the pool until ctx ends. They have an address of
// their own, because Prometheus should not need a token that gets ids.
func (s *serving) serveMetrics(ctx context.Context, pool *idgen.Pool) error {
	listener, err := net.Listen("tcp", s.metricsAddr)
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(snowkeyprom.NewCollector(pool))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // returns when the server is closed
	fmt.Fprintf(s.stdout, "metrics at http://%s/metrics\n", listener.Addr())
	return nil
}
