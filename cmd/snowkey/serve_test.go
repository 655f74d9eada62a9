package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestServe starts the service, draws ids with and without a token, and stops the process,
// which must give its worker number back.
func TestServe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	p := startServe(t, s, nil, "--addr", "127.0.0.1:0", "--namespace", "served", "--token-file", "tokens.txt")
	var ids []string
	for _, token := range []string{"", "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"} {
		r := dbtest.Must(http.NewRequestWithContext(t.Context(), "POST", p.url+"?count=2", nil))(t)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response := dbtest.Must(http.DefaultClient.Do(r))(t)
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		var body struct{ IDs []string }
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil || (response.StatusCode == 200) != (token != "") || (len(body.IDs) == 2) != (token != "") {
			t.Errorf("with the token %q: %s %s, %v", token, response.Status, text, err)
		}
		ids = append(ids, body.IDs...)
	}
	for _, id := range ids {
		if !strings.Contains(s.run(t, "snowkey inspect "+id), "20") { // a year
			t.Errorf("%s is no id", id)
		}
	}
	if workers := s.run(t, "snowkey workers --namespace served"); !strings.Contains(workers, "served") {
		t.Errorf("while it serves:\n%s", workers)
	}
	p.end()
	if workers := s.run(t, "snowkey workers --namespace served"); strings.Contains(workers, "served") {
		t.Errorf("the worker number was not given back:\n%s", workers)
	}
}

// TestServeRefuses checks that nothing is leased for an address that everybody could reach.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, args := range []string{"--addr :0", "--addr 0.0.0.0:0", "--tls-cert x.pem", "--token-file dsn.txt --max-batch -1", "--token-file missing.txt"} {
		cmd := exec.Command("sh", "-c", "snowkey serve --namespace refused "+args)
		cmd.Dir, cmd.Env = s.dir, s.env
		if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "leased") && !strings.Contains(args, "max-batch") {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
}
