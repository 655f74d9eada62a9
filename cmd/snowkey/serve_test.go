package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const oldToken, newToken = "0123456789abcdef0123456789abcdee", "0123456789abcdef0123456789abcdef"

// A served is a running process of snowkey serve.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	first []string      // the lines that it printed before it served
	url   string        // of ids
	log   *bufio.Reader // its log, line by line
}

func startServe(t *testing.T, s shell, env []string, args ...string) *served {
	t.Helper()
	p := &served{t: t, cmd: s.command(append([]string{"serve", "--max-clock-skew", "10ms"}, args...)...)}
	p.cmd.Env = append(p.cmd.Env, env...)
	out := dbtest.Must(p.cmd.StdoutPipe())(t)
	log := dbtest.Must(p.cmd.StderrPipe())(t)
	dbtest.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.log = bufio.NewReader(log)
	lines := bufio.NewScanner(out)
	for p.url == "" && lines.Scan() {
		p.first = append(p.first, lines.Text())
		p.url = regexp.MustCompile(`https?://\S+/v1/ids`).FindString(lines.Text())
	}
	if p.url == "" {
		rest, _ := io.ReadAll(p.log)
		t.Fatalf("it doesn't serve: %q: %s", p.first, rest)
	}
	return p
}

// hangUp sends SIGHUP and waits until the log has a line with this text.
func (p *served) hangUp(text string) {
	p.t.Helper()
	dbtest.NoError(p.t, p.cmd.Process.Signal(syscall.SIGHUP))
	for {
		line, err := p.log.ReadString('\n')
		if err != nil {
			p.t.Fatalf("the log ends without %q: %v", text, err)
		}
		if strings.Contains(line, oldToken) || strings.Contains(line, newToken) {
			p.t.Errorf("the log has a token: %s", line)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// end sends SIGTERM, after which the process must give its worker number back. The rest of
// its log must not have a token.
func (p *served) end() {
	p.t.Helper()
	dbtest.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	rest, _ := io.ReadAll(p.log)
	if err := p.cmd.Wait(); err != nil || !strings.Contains(string(rest), "freed=true") || strings.Contains(string(rest), "0123456789abcdef") {
		p.t.Errorf("it ended with %v: %s", err, rest)
	}
}

// client makes a connection for each request.
var client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}

// post requests ids with a token.
func (p *served) post(bearer string) *http.Response {
	p.t.Helper()
	r := dbtest.Must(http.NewRequestWithContext(p.t.Context(), "POST", p.url, nil))(p.t)
	r.Header.Set("Authorization", "Bearer "+bearer)
	response := dbtest.Must(client.Do(r))(p.t)
	response.Body.Close()
	return response
}

func write(t *testing.T, path, text string) {
	t.Helper()
	// As Kubernetes does, so that no reader sees a half.
	dbtest.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	dbtest.NoError(t, os.Rename(path+".new", path))
}

// On SIGHUP the process must not end. It reads its files again, but keeps the tokens that work
// if there is a mistake in the new ones.
func TestServeReadsFilesAgain(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	tokens, cert, key := filepath.Join(s.dir, "my-tokens.txt"), filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")
	certify := func(serial int64) {
		t.Helper()
		private := dbtest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
		der := dbtest.Must(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private))(t)
		write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
		secret := dbtest.Must(x509.MarshalPKCS8PrivateKey(private))(t)
		write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	}
	write(t, tokens, oldToken+"\n")
	certify(1)
	p := startServe(t, s, nil, "--addr", "127.0.0.1:0", "--namespace", "files", "--token-file", tokens, "--tls-cert", cert, "--tls-key", key)
	check := func(when string, serial int64, old, new int) {
		t.Helper()
		for token, want := range map[string]int{oldToken: old, newToken: new} {
			got := p.post(token)
			if number := got.TLS.PeerCertificates[0].SerialNumber; got.StatusCode != want || number.Int64() != serial || got.ProtoMajor != 2 {
				t.Errorf("%s: %s with %s and the certificate %v, want %d and %d", when, got.Status, got.Proto, number, want, serial)
			}
		}
	}
	check("at first", 1, 200, 401)
	write(t, tokens, oldToken+"\r\n"+newToken+"\r\n")
	p.hangUp("read the tokens and certificates again")
	check("with both tokens", 1, 200, 200)
	write(t, tokens, newToken+"\n# tokens of the billing team\n")
	p.hangUp("token 2 ")
	check("after a mistake", 1, 200, 200)
	write(t, tokens, newToken+"\n")
	certify(2)
	p.hangUp("read the tokens and certificates again")
	check("without the old token", 2, 401, 200)
	p.end()
}

// Files are read again without a signal too, once for each change.
func TestFilesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := secretFiles{tokens: filepath.Join(t.TempDir(), "tokens.txt")}
		write(t, f.tokens, oldToken)
		ctx, stop := context.WithCancel(t.Context())
		var used []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.follow(ctx, f.read(), nil, func(tokens []string, _ *tls.Config) error {
				used = append(used, tokens...)
				return nil
			}, slog.New(slog.DiscardHandler))
		}()
		time.Sleep(3 * interval)
		synctest.Wait()
		write(t, f.tokens, newToken)
		time.Sleep(3 * interval)
		synctest.Wait()
		dbtest.NoError(t, os.Remove(f.tokens))
		time.Sleep(3 * interval)
		synctest.Wait()
		stop()
		<-done
		if !slices.Equal(used, []string{newToken}) {
			t.Errorf("it used %q", used)
		}
	})
}

// A file that every user of the machine can read holds no secrets.
func TestTokenFileOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.txt")
	write(t, path, newToken+"\n")
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o444: false, 0o644: false, 0o602: false, 0o601: false} {
		dbtest.NoError(t, os.Chmod(path, mode))
		tokens, _, err := secretFiles{tokens: path}.read().parse()
		if _, refused := errors.AsType[*usageError](err); refused == want || (len(tokens) == 1) != want {
			t.Errorf("with the mode %v: %q, %v", mode, tokens, err)
		}
	}
}

// Containers are configured by their environment. While the process serves, it has a worker
// number.
func TestServeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	p := startServe(t, s, []string{"SNOWKEY_ADDR=127.0.0.1:0", "SNOWKEY_METRICS_ADDR=127.0.0.1:0", "SNOWKEY_NAMESPACE=environment", "SNOWKEY_MAX_BATCH=1", "SNOWKEY_TOKEN_FILE=tokens.txt", "SNOWKEY_PORT=tcp://10.0.0.1:80"}, "--max-batch", "2")
	if last := p.first[len(p.first)-1]; !strings.Contains(last, `namespace "environment"`) {
		t.Errorf("it prints %q", p.first)
	}
	if status := p.post("fedcba9876543210fedcba9876543211").StatusCode; status != 401 {
		t.Errorf("a wrong token gets %d", status)
	}
	plain := p.url
	for query, want := range map[string]int{"?count=2": 200, "?count=3": 400} { // the flag comes before the variable
		p.url = plain + query
		if status := p.post("fedcba9876543210fedcba9876543210").StatusCode; status != want {
			t.Errorf("%s gets %d", query, status)
		}
	}
	metrics := regexp.MustCompile(`http://\S+/metrics`).FindString(p.first[0])
	response := dbtest.Must(http.Get(metrics))(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), `snowkey_state{state="serving"} 1`) || !strings.Contains(string(text), "snowkey_ids_issued_total 2") {
		t.Errorf("the metrics are %s, %v", text, err)
	}
	const workers = "snowkey workers --namespace environment"
	if list := s.run(t, workers); !strings.Contains(list, "environment") || !strings.Contains(list, "serve 127.0.0.1:0 on ") || !strings.Contains(list, ", process ") { // tells replicas on one host apart
		t.Errorf("while it serves:\n%s", list)
	}
	p.end()
	if list := s.run(t, workers); strings.Contains(list, "environment") {
		t.Errorf("the worker number was not given back:\n%s", list)
	}

	cmd := s.command("serve")
	cmd.Env = append(cmd.Env, "SNOWKEY_RATE=fast")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "SNOWKEY_RATE") {
		t.Errorf("a wrong variable: %v: %s", err, out)
	}
}

// TestServeRefuses checks that nothing is leased for an address that everybody could reach.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, args := range []string{"--addr :0", "--addr 0.0.0.0:0", "--tls-cert x.pem", "--token-file dsn.txt --max-batch -1", "--token-file missing.txt"} {
		cmd := s.command(append([]string{"serve", "--namespace", "refused"}, strings.Fields(args)...)...)
		if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "leased") && !strings.Contains(args, "max-batch") {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
}
