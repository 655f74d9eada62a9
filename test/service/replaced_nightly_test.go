//go:build nightly

package service_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/service/client"
)

// TestNightlyReplacements runs three replicas of snowkey serve under load. In each round it
// replaces their certificate and the token, kills one of them, and starts it again. Proxies
// lose, cut, repeat and delay replies all the time. Each call must succeed, and no id may
// come twice. There are five rounds, or as many as fit into SNOWKEY_REPLACEMENTS, such as 30m.
func TestNightlyReplacements(t *testing.T) {
	var lasts time.Duration
	if text := os.Getenv("SNOWKEY_REPLACEMENTS"); text != "" {
		lasts = dbtest.Must(time.ParseDuration(text))(t)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "snowkey")
	build := exec.Command("go", "build", "-o", program, "../../cmd/snowkey")
	build.Env = append(build.Environ(), "GOWORK=") // that is go.work, with the versions of the release
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := newAuthority(t)
	a.replace(t, dir)
	token := newToken()
	put(t, filepath.Join(dir, "tokens.txt"), token+"\n")
	var replicas []*process
	var urls []string
	for range 3 {
		p := &process{program: program, dir: dir}
		p.start(t)
		proxy := httptest.NewServer(&faultyProxy{to: p, client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: a.pool}, DisableKeepAlives: true,
		}}})
		defer proxy.Close()
		replicas = append(replicas, p)
		urls = append(urls, proxy.URL)
	}

	l := &load{urls: urls}
	l.token.Store(&token)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var done [4]atomic.Int64
	for i := range done {
		group.Go(func() { l.run(ctx, t, &done[i]) })
	}
	began, round := time.Now(), 0
	for ; round < 5 || time.Since(began) < lasts; round++ {
		next := newToken()
		put(t, filepath.Join(dir, "tokens.txt"), next+"\n"+token+"\n")
		a.replace(t, dir)
		for _, p := range replicas {
			p.hangUp(t)
		}
		token = next
		l.token.Store(&next)
		killed := replicas[round%3]
		killed.kill(t)
		l.progress(t, &done)
		killed.start(t)
		l.progress(t, &done)
	}
	stop()
	group.Wait()
	for _, p := range replicas {
		p.end(t)
	}
	slices.Sort(l.ids)
	for i := range l.ids[1:] {
		if l.ids[i] == l.ids[i+1] {
			t.Errorf("id %d came twice", l.ids[i])
		}
	}
	t.Logf("%d ids in %d calls that failed %d times before they succeeded, in %d rounds and %v", len(l.ids),
		done[0].Load()+done[1].Load()+done[2].Load()+done[3].Load(), l.failed.Load(), round, time.Since(began).Round(time.Second))
}

// load draws ids with the latest token.
type load struct {
	urls   []string
	token  atomic.Pointer[string]
	failed atomic.Int64
	mu     sync.Mutex
	ids    []int64
}

// run counts the calls that have succeeded in done.
func (l *load) run(ctx context.Context, t *testing.T, done *atomic.Int64) {
	for ctx.Err() == nil {
		token := l.token.Load()
		c, err := client.New(l.urls, client.Config{Token: *token, Batch: 40, Timeout: 500 * time.Millisecond})
		if err != nil {
			t.Error(err)
			return
		}
		for ctx.Err() == nil && l.token.Load() == token {
			var ids []int64
			for try := 0; ; try++ {
				if ids, err = c.Append(context.WithoutCancel(ctx), nil, 1+mathrand.N(60)); err == nil {
					break
				}
				if l.failed.Add(1); try == 100 {
					t.Errorf("a call failed for the hundredth time: %v", err)
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			l.mu.Lock()
			l.ids = append(l.ids, ids...)
			l.mu.Unlock()
			done.Add(1)
			time.Sleep(5 * time.Millisecond) // so that the ids of half an hour fit into the memory
		}
		c.Close()
	}
}

// progress waits until each goroutine has completed 50 more calls.
func (l *load) progress(t *testing.T, done *[4]atomic.Int64) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for i := range done {
		for want := done[i].Load() + 50; done[i].Load() < want; time.Sleep(10 * time.Millisecond) {
			if t.Failed() {
				t.FailNow()
			}
			if time.Now().After(deadline) {
				t.Fatalf("goroutine %d has completed only %d of 50 calls in a minute", i, 50-want+done[i].Load())
			}
		}
	}
}

// A process is a replica of the command.
type process struct {
	program, dir string
	cmd          *exec.Cmd
	log          *bufio.Reader
	url          atomic.Pointer[string]
}

var served = regexp.MustCompile(`https://\S+/v1/ids`)

func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.program, "serve", "--addr", "127.0.0.1:0", "--dir", filepath.Join(p.dir, "leases"), "--token-file", "tokens.txt", "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--max-clock-skew", "10ms")
	p.cmd.Dir = p.dir
	out := dbtest.Must(p.cmd.StdoutPipe())(t)
	log := dbtest.Must(p.cmd.StderrPipe())(t)
	dbtest.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.log = bufio.NewReader(log)
	line, err := bufio.NewReader(out).ReadString('\n')
	url := served.FindString(line)
	if err != nil || url == "" {
		rest, _ := io.ReadAll(p.log)
		t.Fatalf("it doesn't serve: %q, %v: %s", line, err, rest)
	}
	p.url.Store(&url)
}

func (p *process) hangUp(t *testing.T) {
	t.Helper()
	dbtest.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	for {
		line, err := p.log.ReadString('\n')
		if err != nil {
			t.Fatalf("the log ends after SIGHUP: %v", err)
		}
		if strings.Contains(line, "read the tokens and certificates again") {
			return
		}
	}
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	dbtest.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait()
}

func (p *process) end(t *testing.T) {
	t.Helper()
	dbtest.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	log, _ := io.ReadAll(p.log)
	if err := p.cmd.Wait(); err != nil || !bytes.Contains(log, []byte("freed=true")) {
		t.Errorf("it ended with %v: %s", err, log)
	}
}

// A faultyProxy passes requests on to a replica. It loses, cuts, repeats or delays every
// sixth reply.
type faultyProxy struct {
	to     *process
	client *http.Client
	mu     sync.Mutex
	last   *http.Response // the reply to an earlier request
	body   []byte
}

func (p *faultyProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, err := http.NewRequestWithContext(r.Context(), r.Method, *p.to.url.Load()+"?"+r.URL.RawQuery, nil)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	to.Header = r.Header
	reply, err := p.client.Do(to)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	p.mu.Lock()
	last, lastBody := p.last, p.body
	p.last, p.body = reply, body
	p.mu.Unlock()
	switch mathrand.N(24) {
	case 0:
		panic(http.ErrAbortHandler)
	case 1:
		body = body[:mathrand.N(len(body)+1)]
	case 2:
		if last != nil {
			reply, body = last, lastBody
		}
	case 3:
		select {
		case <-time.After(time.Second): // the client has given up
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Snowkey-Nonce", reply.Header.Get("Snowkey-Nonce"))
	w.WriteHeader(reply.StatusCode)
	_, _ = w.Write(body)
}

func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// put replaces a file at once, as Kubernetes does.
func put(t *testing.T, path, text string) {
	t.Helper()
	dbtest.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	dbtest.NoError(t, os.Rename(path+".new", path))
}

// An authority signs the certificates of the replicas.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	next int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool(), next: 1}
	template := &x509.Certificate{SerialNumber: big.NewInt(a.next), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = dbtest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := dbtest.Must(x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key))(t)
	a.cert = dbtest.Must(x509.ParseCertificate(der))(t)
	a.pool.AddCert(a.cert)
	return a
}

// replace writes a new certificate and its key.
func (a *authority) replace(t *testing.T, dir string) {
	t.Helper()
	a.next++
	key := dbtest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(a.next), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der := dbtest.Must(x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key))(t)
	secret := dbtest.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	put(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
