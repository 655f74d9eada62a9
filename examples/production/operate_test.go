package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
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
	through, proxy := db.Through(t)
	var requests atomic.Int64
	proxy.Answer(func([]byte) (reply []byte, execute bool) {
		if requests.Add(1) > 3 {
			return nil, true
		}
		return []byte("E\x00\x00\x00\x30SFATAL\x00C57P03\x00Mthe database is starting up\x00\x00"), false
	})
	r := startReplica(t, through.DSN)
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
