package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A dir is the directory while one call has its lock. Everything goes through
// one handle, so that what happens to the path meanwhile does not matter.
type dir struct {
	*os.Root
	lock *os.File
}

// locked runs f while no other call does, in this process or another. The kernel
// ends the lock with the process, however that ends.
func (s *Store) locked(ctx context.Context, f func(*dir) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &DirError{s.path, fmt.Errorf("%w: %w", lease.ErrNotMigrated, err)}
	}
	if err != nil {
		return &DirError{s.path, err}
	}
	defer root.Close()
	lock, err := openLock(root)
	if err != nil {
		return &DirError{s.path, err}
	}
	defer lock.Close()
	if err := wait(ctx, lock); err != nil {
		return s.explain(err)
	}
	return s.explain(f(&dir{root, lock}))
}

// check refuses a call that cannot be.
func (s *Store) check(ctx context.Context) error {
	if s == nil || s.path == "" {
		return &DirError{Err: errors.New("there is none; make the store by Dir")}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("filestore: %w", context.Cause(ctx))
	}
	return nil
}

// wait takes the lock. It asks again and again, because nothing ends a wait in
// the kernel when ctx ends. Pauses soon are about the same for all, so that
// nobody who has waited for long is behind those who have just come.
func wait(ctx context.Context, lock *os.File) error {
	const longest = 5 * time.Millisecond
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, longest) {
		if ok, err := tryLock(lock); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause/2 + mathrand.N(pause)):
		case <-ctx.Done():
			return &LockError{lock.Name(), context.Cause(ctx)}
		}
	}
}

// explain says that the directory cannot be used, if that is why.
func (s *Store) explain(err error) error {
	_, file := errors.AsType[*FileError](err)
	_, version := errors.AsType[*lease.VersionError](err)
	_, lock := errors.AsType[*LockError](err)
	if err == nil || file || version || lock {
		return err
	}
	return &DirError{s.path, err}
}

// read returns what is kept of a namespace.
func (d *dir) read(namespace string) (*space, error) {
	file, err := d.Open(fileName(namespace))
	if errors.Is(err, fs.ErrNotExist) {
		return &space{Namespace: namespace, Current: "the first"}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	s, err := decode(file.Name(), text, namespace)
	if err != nil {
		return nil, err
	}
	this, err := identity(file)
	if err != nil {
		return nil, err
	}
	if this != s.File {
		// Somebody else has put it here, and what was granted since is not in it.
		s.Current = fmt.Sprintf("file %s, a copy of %s", this, s.File)
	}
	return s, nil
}

// write puts a new file in the place of the one before. Its content is on the
// disk before it has the name, and its name before anybody is told.
func (d *dir) write(s *space) error {
	name := fileName(s.Namespace)
	temp := strings.TrimSuffix(name, suffix) + "." + rand.Text() + unfinished
	defer d.Remove(temp) // in vain, if all goes well
	if err := d.writeNew(temp, s); err != nil {
		return err
	}
	if err := d.Rename(temp, name); err != nil {
		return err
	}
	return d.syncRename(name)
}

// writeNew makes a file that says which one it is: a copy of it is another.
func (d *dir) writeNew(name string, s *space) (err error) {
	file, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if s.File, err = identity(file); err != nil {
		return err
	}
	text, err := s.encode()
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		return err
	}
	return file.Sync()
}

// tidy removes what processes left behind that were killed while they wrote.
func (d *dir) tidy() error {
	entries, err := fs.ReadDir(d.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), unfinished) {
			d.Remove(e.Name()) // if that fails, it only takes room
		}
	}
	return nil
}

// makeDir makes a directory, and those above it that are missing.
func makeDir(path string) error {
	above := filepath.Dir(path)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) && above != path {
		if err := makeDir(above); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(above)
}
