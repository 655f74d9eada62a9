// Package service tests the id service with its client, and with programs of other languages:
// curl, Python, node, and a validator of OpenAPI documents.
package service_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/service"
	"github.com/snowkey-go/snowkey/service/client"
)

// replica starts a replica of the service, which leases its own worker number as a separate
// process would.
func replica(t *testing.T, dir string) (*idgen.Pool, *httptest.Server) {
	t.Helper()
	store := filestore.Dir(dir)
	ids := dbtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{MaxClockSkew: 10 * time.Millisecond}))(t)
	t.Cleanup(func() { _ = ids.Close(context.Background()) })
	server := httptest.NewServer(dbtest.Must(service.NewHandler(ids, service.Config{MaxWait: 50 * time.Millisecond, Store: store}))(t))
	t.Cleanup(server.Close)
	return ids, server
}

// When one replica loses its lease and another one drops its connections, clients must still
// get ids, and never the same one again.
func TestClient(t *testing.T) {
	dir := t.TempDir()
	suspended, a := replica(t, dir)
	_, b := replica(t, dir)
	_, c := replica(t, dir)
	urls := []string{a.URL, b.URL, c.URL}
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var group sync.WaitGroup
	for i := range 4 {
		ids := dbtest.Must(client.New(append(urls[i%3:], urls[:i%3]...), client.Config{Batch: 50}))(t)
		defer ids.Close()
		for range 2 {
			group.Go(func() {
				for k := range 2000 {
					if i == 0 && k == 1000 {
						b.CloseClientConnections()
						_ = suspended.Suspend(context.Background())
					}
					id, err := ids.Next(context.Background())
					if err != nil {
						t.Errorf("call %d: %v", k, err)
						return
					}
					mu.Lock()
					if seen[id] {
						t.Errorf("%d came twice", id)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	if len(seen) != 16_000 {
		t.Errorf("%d ids", len(seen))
	}
}

// All examples in docs/services.md must run and print ids.
func TestPage(t *testing.T) {
	page := dbtest.Must(os.ReadFile("../../docs/services.md"))(t)
	_, server := replica(t, t.TempDir())
	blocks := regexp.MustCompile("(?s)```(sh|python|ts)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("%d examples", len(blocks))
	}
	ids := regexp.MustCompile(`\b\d{18,19}\b`)
	for _, b := range blocks {
		if b[1] == "ts" && !dbtest.Nightly {
			continue // npx has to fetch a compiler
		}
		t.Run(b[1], func(t *testing.T) {
			text := strings.ReplaceAll(b[2], "http://127.0.0.1:8080", server.URL)
			var command []string
			switch b[1] {
			case "sh":
				need(t, "curl")
				command = []string{"sh", "-c", text}
			case "python":
				need(t, "python3")
				command = []string{"python3", "-c", text}
			case "ts":
				file := filepath.Join(t.TempDir(), "example.mts")
				dbtest.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				command = []string{filepath.Join(dbtest.NPMFolder(t, "tsx@4.19.2"), "../.bin/tsx"), file}
			}
			out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			found := ids.FindAllString(string(out), -1)
			if len(found) < 2 {
				t.Fatalf("it prints %s", out)
			}
			last := int64(0)
			for _, text := range found {
				id, err := strconv.ParseInt(text, 10, 64)
				if err != nil || id <= last {
					t.Errorf("%s after %d: %v", text, last, err)
				}
				last = id
			}
		})
	}
}

func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed", tool)
	}
}
