//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var blocks = regexp.MustCompile("(?s)```(go|sh)\n(.*?)```")

// The program and the commands that docs/stores.md has for etcd must work.
func TestPage(t *testing.T) {
	t.Parallel()
	_, page, _ := strings.Cut(string(dbtest.Must(os.ReadFile("../../docs/stores.md"))(t)), "\n## etcd\n")
	page, _, _ = strings.Cut(page, "\n## ")
	c := start(t, 1)
	m := c.members[0]
	dir := t.TempDir()
	for name, program := range map[string]string{"etcdctl": "=etcdctl", "etcdutl": "='etcdutl snapshot'"} {
		script := "#!/bin/sh\n" + programEnv + program + " exec '" + os.Args[0] + "' \"$@\"\n"
		if name == "etcdutl" {
			script = strings.Replace(script, "\n", "\nshift\n", 1) // the test binary has only the command snapshot
		}
		dbtest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
	}
	restored := filepath.Join(dir, "restored")
	here := strings.NewReplacer("127.0.0.1:2380", strings.TrimPrefix(c.peers[0], "http://"), "/var/lib/etcd-restored", restored)
	run := func(cmd *exec.Cmd) string {
		t.Helper()
		cmd.Env = append(os.Environ(), "ETCD_ENDPOINTS="+m.Address, "ETCDCTL_ENDPOINTS="+m.Address, "PASSWORD=secret",
			"PATH="+dir+":"+os.Getenv("PATH"))
		var log strings.Builder
		cmd.Stderr = &log
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", cmd.Args, err, text, log.String())
		}
		return string(text)
	}
	counts := make(map[string]int)
	before := c.id()
	for _, block := range blocks.FindAllStringSubmatch(page, -1) {
		counts[block[1]]++
		if block[1] == "sh" {
			cmd := exec.Command("sh", "-ec", here.Replace(block[2]))
			cmd.Dir = dir
			run(cmd)
			continue
		}
		file := filepath.Join(dir, "main.go")
		dbtest.NoError(t, os.WriteFile(file, []byte(block[2]), 0o600))
		if id := strings.TrimSpace(run(exec.Command("go", "run", file))); !regexp.MustCompile(`^\d{18}$`).MatchString(id) {
			t.Errorf("the program prints %q, not an id", id)
		}
	}
	if counts["go"] != 1 || counts["sh"] != 3 {
		t.Errorf("the page has %v blocks", counts)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	role, err := c.connect(nil).RoleGet(ctx, "app")
	if err != nil || len(role.Perm) != 1 || string(role.Perm[0].Key) != "snowkey/" || string(role.Perm[0].RangeEnd) != "snowkey0" {
		t.Errorf("the role is %v, %v", role, err)
	}
	// The restored directory has the data, and another cluster id.
	dbtest.NoError(t, errors.Join(m.Kill(), os.RemoveAll(m.Dir), os.Rename(restored, m.Dir), m.Start()))
	c.ready()
	resp, err := c.connect(nil).Get(ctx, "snowkey/orders/time")
	if err != nil || len(resp.Kvs) != 1 || resp.Header.ClusterId == before {
		t.Errorf("restored: %v, %v; the cluster id was %d", resp, err, before)
	}
}
