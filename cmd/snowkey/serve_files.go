package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"
)

// secretFiles are the paths of the files that serve reads while it runs, or "".
type secretFiles struct {
	tokens, cert, key, clientCA string
}

// interval is how often the files are compared with what was read.
const interval = 10 * time.Second

// follow reads the files again if they differ from seen, every 10 s and on each signal,
// until ctx ends. If they are wrong, the service keeps what it has.
func (f secretFiles) follow(ctx context.Context, seen [sha256.Size]byte, signals <-chan os.Signal, use func([]string, *tls.Config) error, log *slog.Logger) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		case <-ticks.C:
		}
		sum := f.sum()
		if sum == seen {
			continue
		}
		seen = sum
		tokens, config, err := f.read()
		if err == nil {
			err = use(tokens, config)
		}
		if err != nil {
			log.Error("serve: the files have changed but can't be used; the former tokens and certificates stay", "error", err)
			continue
		}
		log.Info("serve: read the tokens and certificates again")
	}
}

// sum changes when a file changes. The time of a change isn't enough, because Kubernetes
// replaces a link.
func (f secretFiles) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, path := range []string{f.tokens, f.cert, f.key, f.clientCA} {
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(h, "%d %v\n", len(text), err)
		h.Write(text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// read returns the tokens, and the configuration of HTTPS or nil.
func (f secretFiles) read() (tokens []string, config *tls.Config, err error) {
	if tokens, err = readTokens(f.tokens); err != nil {
		return nil, nil, err
	}
	config, err = f.tlsConfig()
	return tokens, config, err
}

// readTokens reads one token per line, so the number in an error of package service is that
// of the line.
func readTokens(path string) (tokens []string, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return nil, &usageError{fmt.Sprintf("every user of the machine may read %s, which has the mode %04o; chmod o= %[1]s, or in Kubernetes set defaultMode: 0440 of the volume", path, info.Mode().Perm())}
	}
	tokens = strings.Split(strings.TrimRight(string(text), "\r\n"), "\n")
	for i := range tokens {
		tokens[i] = strings.TrimSuffix(tokens[i], "\r")
	}
	return tokens, nil
}

func (f secretFiles) tlsConfig() (*tls.Config, error) {
	switch {
	case f.cert == "" && f.key == "" && f.clientCA == "":
		return nil, nil
	case f.cert == "" || f.key == "":
		return nil, &usageError{"HTTPS needs both --tls-cert and --tls-key"}
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if f.clientCA != "" {
		text, err := os.ReadFile(f.clientCA)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates of clients: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, &usageError{f.clientCA + " has no certificate in PEM form"}
		}
	}
	return config, nil
}
