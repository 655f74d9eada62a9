package main

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var metricsAddress = regexp.MustCompile(`metrics.*address=\S*:(\d+)`)

// A replica that starts before its database must wait for it. Its metrics are those that
// the dashboard and the alerts read.
func TestDatabaseStartsLater(t *testing.T) {
	db := dbtest.Postgres(t)
	t.Setenv("DATABASE_URL", db.DSN)
	if err := run(t.Context(), []string{"migrate"}); err != nil {
		t.Fatal(err)
	}
	_, proxy := db.Through(t)
	r := startReplica(t, db.At(starting(t, 3, proxy.Address())).DSN)
	if log := r.log.String(); !strings.Contains(log, "no worker number yet") {
		t.Errorf("the database was there from the start:\n%s", log)
	}
	r.create(t, "ada")
	port := metricsAddress.FindStringSubmatch(r.log.String())
	if port == nil {
		t.Fatalf("there are no metrics:\n%s", r.log)
	}
	response, err := http.Get("http://127.0.0.1:" + port[1] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "snowkey_ids_issued_total 1\n") {
		t.Errorf("the metrics are %s, %v", text, err)
	}
	if status, _ := r.request(t, "GET", "/metrics", ""); status != http.StatusNotFound {
		t.Errorf("clients get the metrics: %d", status)
	}
}

// starting returns the address of a server that closes the first n connections, and leads
// the others to address.
func starting(t *testing.T, n int, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for i := 0; ; i++ {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			if i < n {
				from.Close()
				continue
			}
			to, err := net.Dial("tcp", address)
			if err != nil {
				from.Close()
				continue
			}
			go func() { defer to.Close(); io.Copy(to, from) }()
			go func() { defer from.Close(); io.Copy(from, to) }()
		}
	}()
	return listener.Addr().String()
}
