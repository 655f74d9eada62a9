//go:build nightly && linux

package main

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyImages unpacks the images, and runs their programs where there is nothing else:
// without a file of the host, and not as root.
func TestNightlyImages(t *testing.T) {
	if os.Getuid() != 0 {
		dbtest.NotRun(t, "only root can change the root directory of a process")
	}
	t.Chdir("../..")
	dockerfile := string(dbtest.Must(os.ReadFile("Dockerfile"))(t))
	for _, c := range []struct {
		pkg  string
		args []string
		env  []string
		says string
	}{
		{"./cmd/snowkey", []string{"serve"}, []string{"SNOWKEY_DIR=/leases", "SNOWKEY_ADDR=127.0.0.1:0"}, "with worker number "},
		{"./examples/production", nil, []string{"DATABASE_URL=port=none"}, "open DATABASE_URL"},
	} {
		dir := filepath.Join(t.TempDir(), "image")
		build := exec.Command("go", "run", "./test/image", "-o", dir, "-platforms", "linux/"+runtime.GOARCH, c.pkg)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		index := dbtest.Must(layout.ImageIndexFromPath(dir))(t)
		dbtest.NoError(t, validate.Index(index))
		images := dbtest.Must(index.IndexManifest())(t).Manifests
		image := dbtest.Must(index.Image(images[0].Digest))(t)
		config := dbtest.Must(image.ConfigFile())(t).Config
		if len(images) != 1 || config.Entrypoint[0] != "/"+path.Base(c.pkg) || !strings.Contains(dockerfile, "\nUSER "+config.User+"\n") {
			t.Errorf("%s: %d images, %+v", c.pkg, len(images), config)
		}

		root := t.TempDir()
		dbtest.NoError(t, os.Chmod(root, 0o755))
		unpack(t, root, mutate.Extract(image))
		leases := filepath.Join(root, "leases") // a volume
		dbtest.NoError(t, os.Mkdir(leases, 0o700))
		dbtest.NoError(t, os.Chown(leases, 65532, 65532))
		cmd := exec.Command(config.Entrypoint[0], c.args...)
		cmd.Env, cmd.Dir = c.env, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		out := dbtest.Must(cmd.StdoutPipe())(t)
		cmd.Stderr = cmd.Stdout
		dbtest.NoError(t, cmd.Start())
		var printed strings.Builder
		for lines := bufio.NewScanner(out); !strings.Contains(printed.String(), c.says) && lines.Scan(); {
			printed.WriteString(lines.Text() + "\n")
		}
		if !strings.Contains(printed.String(), c.says) {
			t.Errorf("%s: it prints %s", c.pkg, &printed)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	for _, want := range []string{`(?m)^RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /program \$PROGRAM$`, `(?m)^ENTRYPOINT \["/program"\]$`} {
		if !regexp.MustCompile(want).MatchString(dockerfile) {
			t.Errorf("Dockerfile does not match %s:\n%s", want, dockerfile)
		}
	}
}

// The manual pages have every command, with its flags.
func TestNightlyManualPages(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "-tags", "man", "./cmd/snowkey", dir)
	cmd.Env, cmd.Dir = append(cmd.Environ(), "GOWORK="), "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for page, want := range map[string]string{"snowkey.1": "snowkey-workers(1)", "snowkey-serve.1": "--token-file", "snowkey-migrate-plan.1": "--online"} {
		if text := string(dbtest.Must(os.ReadFile(filepath.Join(dir, page)))(t)); !strings.Contains(text, want) {
			t.Errorf("%s does not have %s:\n%s", page, want, text)
		}
	}
}

func unpack(t *testing.T, root string, files io.ReadCloser) {
	t.Helper()
	defer files.Close()
	for r := tar.NewReader(files); ; {
		file, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		dbtest.NoError(t, err)
		name := filepath.Join(root, filepath.Clean("/"+file.Name))
		dbtest.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		dbtest.NoError(t, os.WriteFile(name, dbtest.Must(io.ReadAll(r))(t), file.FileInfo().Mode()))
	}
}
