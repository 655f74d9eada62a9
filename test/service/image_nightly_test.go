//go:build nightly && linux

package service_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyImages builds the programs as their Dockerfiles do, and runs them where there is
// nothing else: without a file of the host, and not as root.
func TestNightlyImages(t *testing.T) {
	if os.Getuid() != 0 {
		dbtest.NotRun(t, "only root can change the root directory of a process")
	}
	for _, image := range []struct {
		dockerfile string
		env        []string
		says       string
	}{
		{"cmd/snowkey/Dockerfile", []string{"SNOWKEY_DIR=/leases", "SNOWKEY_ADDR=127.0.0.1:0"}, "with worker number "},
		{"examples/production/Dockerfile", []string{"DATABASE_URL=port=none"}, "open DATABASE_URL"},
	} {
		text := dbtest.Must(os.ReadFile("../../" + image.dockerfile))(t)
		build := regexp.MustCompile(`(?m)^RUN (.*) -o (/\S+) (\S+)$`).FindStringSubmatch(string(text))
		if build == nil || !strings.Contains(string(text), "\nUSER 65532:65532\n") || !strings.Contains(string(text), `ENTRYPOINT ["`+build[2]+`"]`) {
			t.Fatalf("%s: %s", image.dockerfile, text)
		}
		root := t.TempDir()
		dbtest.NoError(t, os.Chmod(root, 0o755))
		compile := exec.CommandContext(t.Context(), "sh", "-c", build[1]+" -o "+filepath.Join(root, build[2])+" "+build[3])
		compile.Dir = "../.."
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		leases := filepath.Join(root, "leases") // a volume
		dbtest.NoError(t, os.Mkdir(leases, 0o700))
		dbtest.NoError(t, os.Chown(leases, 65532, 65532))
		var args []string
		if strings.HasPrefix(image.dockerfile, "cmd/") {
			args = []string{"serve"}
		}
		cmd := exec.Command(build[2], args...)
		cmd.Env, cmd.Dir = image.env, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		out := dbtest.Must(cmd.StdoutPipe())(t)
		cmd.Stderr = cmd.Stdout
		dbtest.NoError(t, cmd.Start())
		var printed strings.Builder
		for lines := bufio.NewScanner(out); !strings.Contains(printed.String(), image.says) && lines.Scan(); {
			printed.WriteString(lines.Text() + "\n")
		}
		if !strings.Contains(printed.String(), image.says) {
			t.Errorf("%s: it prints %s", image.dockerfile, &printed)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
}
