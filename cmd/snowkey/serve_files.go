package main

import (
	"context"
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

// contents are the texts of the files, or the error of reading one.
type contents struct {
	tokens, cert, key, clientCA string
	failure                     string
}

// interval is how often the files are compared with what was read.
const interval = 10 * time.Second

// follow reads the files again, every 10 s and on each signal, until ctx ends. If they
// differ from seen, it uses them. If they are wrong, the service keeps what it has.
func (f secretFiles) follow(ctx context.Context, seen contents, signals <-chan os.Signal, use func([]string, *tls.Config) error, log *slog.Logger) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		case <-ticks.C:
		}
		now := f.read()
		if now == seen {
			continue
		}
		seen = now
		tokens, config, err := now.parse()
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

// read reads the files. The time of a change would not tell whether they have changed,
// because Kubernetes replaces a link.
func (f secretFiles) read() (c contents) {
	if (f.cert == "") != (f.key == "") || f.cert == "" && f.clientCA != "" {
		return contents{failure: "HTTPS needs both --tls-cert and --tls-key"}
	}
	for _, file := range []struct {
		path string
		text *string
	}{{f.tokens, &c.tokens}, {f.cert, &c.cert}, {f.key, &c.key}, {f.clientCA, &c.clientCA}} {
		if file.path == "" {
			continue
		}
		text, err := os.ReadFile(file.path)
		if err == nil && len(text) == 0 {
			err = fmt.Errorf("%s is empty", file.path)
		}
		if err == nil && file.text == &c.tokens {
			err = checkMode(file.path)
		}
		if err != nil {
			return contents{failure: err.Error()}
		}
		*file.text = string(text)
	}
	return c
}

// checkMode refuses a file that every user of the machine can read.
func checkMode(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o007 != 0 {
		return fmt.Errorf("every user of the machine may use %s, which has the mode %04o; run chmod o= %[1]s, or in Kubernetes set defaultMode: 0440 of the volume", path, mode)
	}
	return nil
}

// parse returns the tokens, and the configuration of HTTPS or nil. There is a token on
// each line, so the number in an error of package service is that of the line.
func (c contents) parse() (tokens []string, config *tls.Config, err error) {
	if c.failure != "" {
		return nil, nil, &usageError{c.failure}
	}
	if c.tokens != "" {
		tokens = strings.Split(strings.TrimRight(strings.ReplaceAll(c.tokens, "\r\n", "\n"), "\r\n"), "\n")
	}
	if c.cert == "" {
		return tokens, nil, nil
	}
	pair, err := tls.X509KeyPair([]byte(c.cert), []byte(c.key))
	if err != nil {
		return nil, nil, fmt.Errorf("the certificate and its key: %w", err)
	}
	config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.clientCA != "" {
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM([]byte(c.clientCA)) {
			return nil, nil, &usageError{"the file of --client-ca has no certificate in PEM form"}
		}
	}
	return tokens, config, nil
}
