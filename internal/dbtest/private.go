package dbtest

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed warden.sh
var wardenScript string

// startPrivate runs a server in a temporary directory, listening on a free port.
func (e engine) startPrivate(in installation, durable bool) (*server, error) {
	for tries := 3; ; tries-- {
		srv, err := e.tryPrivate(in, durable)
		// Another process may have taken the port before the server could, so try
		// again.
		if err == nil || tries == 1 || !strings.Contains(strings.ToLower(err.Error()), "already in use") {
			return srv, err
		}
	}
}

func (e engine) tryPrivate(in installation, durable bool) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("dbtest: no free port: %w", err)
	}
	dir, asAccount, err := ownedDir(e.account)
	if err != nil {
		return nil, fmt.Errorf("dbtest: no directory for a private %s: %w", e.name, err)
	}
	if e.space != "" {
		asAccount = inNamespace(e.space, asAccount)
	}
	data := filepath.Join(dir, "data")

	w, err := startWarden(dir, asAccount, in.quit, in.initialise(data), in.serve(dir, data, port, durable))
	if err != nil {
		return nil, fmt.Errorf("dbtest: start a private %s: %w", e.name, err)
	}
	srv, err := e.await(w, in, port, filepath.Base(dir))
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("dbtest: a private %s did not start: %w; its log ends:\n%s", e.name, err, w.log())
	}
	srv.origin = "a private server"
	srv.stop = w.stop
	answers := func() error { _, err := e.connect(in.dsn(port), ""); return err }
	srv.process = &Process{name: e.name, answers: answers, dir: dir, warden: w}
	return srv, nil
}

// await waits for the server, and checks that it is the one that we started.
func (e engine) await(w *warden, in installation, port int, dirName string) (srv *server, err error) {
	err = w.await(func() error {
		if srv, err = e.connect(in.dsn(port), ""); err != nil {
			return err
		}
		return e.isIn(srv, in, dirName)
	})
	return srv, err
}

func (e engine) isIn(srv *server, in installation, dirName string) error {
	if in.dataSQL == "" {
		return nil
	}
	db, err := sql.Open(e.driver, srv.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	var data string
	if err := db.QueryRowContext(context.Background(), in.dataSQL).Scan(&data); err != nil {
		return err
	}
	if !strings.Contains(data, dirName) {
		return errors.New("another server has taken its port, which was already in use")
	}
	return nil
}

// freePort returns a port that no program uses. It is below those that systems use for
// outgoing connections, because such a connection may take the port before the server
// does, or while the server is down.
func freePort() (port int, err error) {
	const least, most, tries = 10_240, 32_767, 100
	for range tries {
		port = least + rand.IntN(most-least+1)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// A warden ends a server when its owner, which is this process, ends. See warden.sh.
type warden struct {
	owner  *os.File // our end of the pipe; the warden acts when it's closed
	ended  chan struct{}
	output *os.File
}

func startWarden(dir string, asAccount func(*exec.Cmd), quit string, initialise, serve []string) (*warden, error) {
	// We open the log ourselves so that we can still read it after dir has been
	// removed.
	output, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	pipe, owner, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer pipe.Close()
	cmd := exec.Command("sh", "-c", wardenScript, "warden", quit, dir, quote(initialise), quote(serve))
	cmd.Dir = "/" // our own directory may be one that the account can't enter
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipe, output, output
	asAccount(cmd)
	if err := cmd.Start(); err != nil {
		owner.Close()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w := &warden{owner: owner, ended: make(chan struct{}), output: output}
	go func() {
		cmd.Wait()
		close(w.ended)
	}()
	return w, nil
}

// stop ends the server, and waits until both the server and its directory are gone.
func (w *warden) stop() {
	w.owner.Close()
	<-w.ended
}

// log returns the last 2,000 bytes of what the server has written.
func (w *warden) log() string {
	info, err := w.output.Stat()
	if err != nil {
		return err.Error()
	}
	tail := make([]byte, min(info.Size(), 2000))
	n, _ := w.output.ReadAt(tail, info.Size()-int64(len(tail)))
	return string(tail[:n])
}

// quote turns args into a command line for the shell.
func quote(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
