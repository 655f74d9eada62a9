package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// programEnv makes the test binary the program.
const programEnv = "SNOWKEY_PRODUCTION"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestReplicas lets three replicas migrate at the same time and serve, replaces one after
// another, and then ends the old ones.
func TestReplicas(t *testing.T) {
	dsn := dbtest.Postgres(t).DSN
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "migrate")
			cmd.Env = append(os.Environ(), programEnv+"=1", "DATABASE_URL="+dsn)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("migrate: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()

	seen := map[string]string{}
	create := func(r *replica, name string) {
		t.Helper()
		user := r.create(t, name)
		if other, ok := seen[user.ID]; ok {
			t.Errorf("%s and %s have the key %s", other, name, user.ID)
		}
		seen[user.ID] = name
		if got := r.get(t, user.ID); got.Name != name {
			t.Errorf("the key %s of %s fetches %s", user.ID, name, got.Name)
		}
	}
	replicas := make([]*replica, 3)
	for i := range replicas {
		replicas[i] = startReplica(t, dsn)
	}
	var old []*replica
	for round := range 3 {
		for i, r := range replicas {
			create(r, fmt.Sprintf("user %d of replica %d", round, i))
		}
		old = append(old, replicas[round])
		replicas[round] = startReplica(t, dsn)
	}
	t.Run("end", func(t *testing.T) {
		for i, r := range old {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				r.terminate(t)
			})
		}
	})
	for i, r := range replicas {
		create(r, fmt.Sprintf("the last user of replica %d", i))
	}
}

// terminate asks a replica to end. The replica must report that it isn't ready, finish
// what it's doing, and release its worker number.
func (r *replica) terminate(t *testing.T) {
	t.Helper()
	if status, _ := r.request(t, "GET", "/readyz", ""); status != http.StatusOK {
		t.Errorf("before the end: %d", status)
	}
	r.cmd.Process.Signal(syscall.SIGTERM)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if status, _ := r.request(t, "GET", "/readyz", ""); status == http.StatusServiceUnavailable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("after SIGTERM it is ready for a minute")
		}
	}
	r.create(t, "a request after SIGTERM")
	<-r.ended
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if log := r.log.String(); !strings.Contains(log, "released the worker number") {
		t.Errorf("the worker number was not released:\n%s", log)
	}
}

func TestWithoutADatabase(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://me:hunter2@127.0.0.1:1/x?connect_timeout=1")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // otherwise it waits for a minute
	defer cancel()
	err := run(ctx, nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

// An error of a driver has the address and the user of the database, which aren't for
// the clients of the service.
func TestErrorsAreNotSent(t *testing.T) {
	w := httptest.NewRecorder()
	fail(w, errors.New("failed to connect to `user=shop database=orders`: 10.0.0.5:5432"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "shop") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type replica struct {
	cmd   *exec.Cmd
	url   string
	log   *log
	ended chan struct{} // closed when we have read all of its output
}

// A log is written by a process while a test reads it.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var address = regexp.MustCompile(`serving.*address=\S*:(\d+)`)

func startReplica(t *testing.T, dsn string) *replica {
	t.Helper()
	r := &replica{cmd: exec.Command(os.Args[0]), log: &log{}, ended: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), programEnv+"=1", "DATABASE_URL="+dsn, "PORT=0", "METRICS_PORT=0", "DRAIN_DELAY=3s")
	pipe := dbtest.Must(r.cmd.StderrPipe())(t)
	dbtest.NoError(t, r.cmd.Start())
	t.Cleanup(func() { r.cmd.Process.Kill() })
	port := make(chan string, 1)
	go func() {
		defer close(r.ended)
		defer close(port)
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			r.log.add(lines.Text())
			if m := address.FindStringSubmatch(lines.Text()); m != nil {
				port <- m[1]
			}
		}
	}()
	p, ok := <-port
	if !ok {
		t.Fatalf("it does not serve:\n%s", r.log)
	}
	r.url = "http://127.0.0.1:" + p
	return r
}

type user struct{ ID, Name string }

func (r *replica) create(t *testing.T, name string) (u user) {
	t.Helper()
	status, body := r.request(t, "POST", "/users", fmt.Sprintf(`{"name":%q}`, name))
	if err := json.Unmarshal(body, &u); err != nil || status != http.StatusCreated {
		t.Fatalf("POST /users: %d %s", status, body)
	}
	return u
}

func (r *replica) get(t *testing.T, id string) (u user) {
	t.Helper()
	status, body := r.request(t, "GET", "/users/"+id, "")
	if err := json.Unmarshal(body, &u); err != nil || status != http.StatusOK {
		t.Fatalf("GET /users/%s: %d %s", id, status, body)
	}
	return u
}

func (r *replica) request(t *testing.T, method, path, body string) (status int, answer []byte) {
	t.Helper()
	req := dbtest.Must(http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body)))(t)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, r.log)
	}
	defer res.Body.Close()
	if answer, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}
