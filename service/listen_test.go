package service

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/netutil"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// listen serves handler like the command does, and returns the address.
func listen(t *testing.T, handler http.Handler, guarded bool) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	addr, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- ListenAndServe(ctx, "127.0.0.1:0", handler, guarded, nil, func(a net.Addr) { addr <- a.String() })
	}()
	t.Cleanup(func() {
		stop()
		errtest.NoError(t, <-ended)
	})
	return <-addr
}

// A page of another origin can send a request with the browser of somebody who reaches the
// service. It must not get any ids.
func TestPagesOfOtherOrigins(t *testing.T) {
	ids := newPool(t)
	url := start(t, ids, Config{}) + "/v1/ids"
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://attacker.example"}, {"Origin", "null"},
	} {
		if status, _, _ := call(t, "POST", url, headers...); status != http.StatusForbidden {
			t.Errorf("%v: %d", headers, status)
		}
	}
	if n := ids.Stats().Issued; n != 0 {
		t.Errorf("%d ids were issued", n)
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		if status, _, _ := call(t, "POST", url, headers...); status != http.StatusOK {
			t.Errorf("%v: %d", headers, status)
		}
	}
}

// A page can let its own name lead to 127.0.0.1, and is then of the same origin. Its name
// is in the Host header.
func TestNamesOfOtherHosts(t *testing.T) {
	handler := errtest.Must(NewHandler(newPool(t), Config{}))(t)
	open, guarded := listen(t, handler, false), listen(t, handler, true)
	for host, want := range map[string]int{
		"": 200, "localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1": 200, "127.0.0.1:1": 200, "[::1]:8080": 200, "[::1]": 200, "127.8.9.1:80": 200, "[::ffff:127.0.0.1]:80": 200,
		"attacker.example": 421, "attacker.example:8080": 421, "localhost.attacker.example": 421, "127.0.0.1.attacker.example:80": 421, "10.0.0.1": 421, "0.0.0.0:80": 421, "evil.localhost": 421,
	} {
		for _, c := range []struct{ method, path string }{{"GET", "/livez"}, {"GET", "/v1/status"}, {"POST", "/v1/ids"}} {
			for address, want := range map[string]int{open: want, guarded: 200} {
				r := request(t, c.method, "http://"+address+c.path)
				r.Close = true
				if host != "" {
					r.Host = host
				}
				if status, _, _ := send(t, r); status != want {
					t.Errorf("%s %s of %q: %d, want %d, guarded %v", c.method, c.path, host, status, want, address == guarded)
				}
			}
		}
	}
}

// Further connections wait until one of those that are open ends.
func TestLimitOfConnections(t *testing.T) {
	handler := errtest.Must(NewHandler(newPool(t), Config{}))(t)
	listener := errtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, netutil.LimitListener(listener, 2), handler, nil) }()
	var conns []net.Conn
	ask := func(i int) error {
		fmt.Fprint(conns[i], "POST /v1/ids HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
		return answer(conns[i])
	}
	for range 3 {
		conn := errtest.Must(net.Dial("tcp", listener.Addr().String()))(t)
		defer conn.Close()
		conns = append(conns, conn)
	}
	for i := range 2 {
		errtest.NoError(t, ask(i))
	}
	conns[2].SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if err := ask(2); err == nil {
		t.Error("a third connection was served")
	}
	conns[0].Close()
	conns[2].SetReadDeadline(time.Time{})
	errtest.NoError(t, answer(conns[2]))
	conns[1].Close()
	conns[2].Close()
	stop()
	errtest.NoError(t, <-ended)
}

// answer reads the status line of a reply.
func answer(conn net.Conn) error {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		err = fmt.Errorf("the reply is %q", line)
	}
	return err
}
