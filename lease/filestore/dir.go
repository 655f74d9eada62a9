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
	"runtime"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A dir is the directory while one call has its lock. All operations go through one
// handle, so they are all in the same directory, even if the path is renamed meanwhile.
type dir struct {
	*os.Root
	lock *os.File
	mode fs.FileMode // of new files
	now  int64       // a time before the last look at the path; see locked
}

// locked runs f under a lock that excludes all other calls, both in this process and in
// others. If the process is killed, the kernel releases the lock.
//
// While the call waited, another directory may have taken the place of this one, or
// another file that of the lock file. So after it has read the time, and before it grants
// anything, it looks whether both are still in their places. If one is replaced later, what
// f grants at that time is below the fence of the namespaces that are created there.
func (s *Store) locked(ctx context.Context, f func(*dir) error) (err error) {
	if err := s.check(ctx); err != nil {
		return err
	}
	defer func() { err = s.explain(err) }()
	root, err := os.OpenRoot(s.path)
	if err != nil {
		return err
	}
	defer root.Close()
	d := &dir{Root: root, mode: s.mode & 0o666}
	if err := s.trust(d); err != nil {
		return err
	}
	for {
		if d.lock, err = d.openLock(); err != nil {
			return err
		}
		err = wait(ctx, d.lock)
		d.now = s.clock().UnixMicro()
		if err != nil || d.same(lockName, d.lock) {
			break
		}
		d.lock.Close()
	}
	defer d.lock.Close()
	if err == nil {
		err = s.trust(d)
	}
	if err == nil {
		err = f(d)
	}
	if err == nil && !d.same(lockName, d.lock) {
		err = errors.New("the lock file was deleted during a call")
	}
	return err
}

// lockName is the name of the lock file. It is never deleted.
const lockName = prefix + "lock"

// openLock opens the lock file. If there is none, it creates one.
func (d *dir) openLock() (*os.File, error) {
	for {
		file, err := d.OpenFile(lockName, os.O_RDWR, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		if file, err = d.create(lockName); !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// create creates a file. Its mode does not depend on the umask.
func (d *dir) create(name string) (*os.File, error) {
	file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, d.mode)
	if err == nil && d.mode&0o077 != 0 {
		err = file.Chmod(d.mode)
	}
	return file, err
}

// same reports whether the file is still the one of this name.
func (d *dir) same(name string, file *os.File) bool {
	there, err := d.Lstat(name)
	if err != nil {
		return false
	}
	mine, err := file.Stat()
	return err == nil && os.SameFile(there, mine)
}

// trust returns an error if the path no longer leads to this directory, or if another
// user could change the files in it.
func (s *Store) trust(d *dir) error {
	there, err := os.Lstat(s.path)
	if err != nil {
		return err
	}
	if why := untrusted(there, s.mode); why != "" {
		return &lease.PermanentError{
			Err:    s.unusable(errors.New(why)),
			Remedy: "make it a directory of this user with mode 0700, or allow a group with filestore.Mode",
		}
	}
	this, err := d.Stat(".")
	if err == nil && !os.SameFile(there, this) {
		err = errors.New("it was replaced by another directory during a call")
	}
	return err
}

// check returns an error if the store has no directory or ctx has ended.
func (s *Store) check(ctx context.Context) error {
	if s.path == "" {
		return errors.New("filestore: the store has no directory; make it with Dir")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("filestore: %w", context.Cause(ctx))
	}
	return nil
}

// wait takes the lock, or returns errLocked when ctx ends. We have to poll, because
// waiting in the kernel would not end with ctx. The pauses soon reach their limit, so
// that a call that has waited for a long time polls nearly as often as a new one.
func wait(ctx context.Context, lock *os.File) error {
	const longest = 5 * time.Millisecond
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, longest) {
		if ok, err := tryLock(lock); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause/2 + mathrand.N(pause)):
		case <-ctx.Done():
			return fmt.Errorf("filestore: %w %q: %w; if this persists, one of them is stopped during a write: continue or end it", errLocked, lock.Name(), context.Cause(ctx))
		}
	}
}

var (
	errDamaged = errors.New("damaged file")
	errLocked  = errors.New("other processes locked")
)

// explain makes err an error about the directory, unless it already is one about a file, the
// lock, or who may use the directory.
func (s *Store) explain(err error) error {
	_, version := errors.AsType[*lease.VersionError](err)
	_, permanent := errors.AsType[*lease.PermanentError](err)
	switch {
	case err == nil, version, permanent, errors.Is(err, errDamaged), errors.Is(err, errLocked):
		return err
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: %w", lease.ErrNotMigrated, err)
	}
	return s.unusable(err)
}

func (s *Store) unusable(err error) error {
	return fmt.Errorf("filestore: cannot keep leases in the directory %q: %w; use a directory on a local disk with free space, where this user may create files", s.path, err)
}

// read returns the content of a namespace's file.
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
	this, err := d.identity(file)
	if err != nil {
		return nil, err
	}
	if this != s.File {
		// The file is a copy, so it may lack later grants.
		s.Current = fmt.Sprintf("file %s, a copy of %s", this, s.File)
	}
	return s, nil
}

// write replaces a namespace's file with a new one. The content must be on the disk
// before the file is renamed, and the rename must be on the disk before write returns.
func (d *dir) write(s *space) error {
	name := fileName(s.Namespace)
	temp := strings.TrimSuffix(name, suffix) + "." + rand.Text() + unfinished
	defer d.Remove(temp) // fails after a rename, and that's fine
	err := d.writeNew(temp, s)
	if err == nil {
		err = d.Rename(temp, name)
	}
	if err == nil {
		err = d.syncRename(name)
	}
	return err
}

// writeNew creates a file and writes s to it, together with the file's own identity. If
// someone copies the file later, we'll notice because the copy has another identity.
func (d *dir) writeNew(name string, s *space) (err error) {
	file, err := d.create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if s.File, err = d.identity(file); err != nil {
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

// syncRename waits until the rename of a file to this name is on the disk. Except on Windows,
// it flushes the directory.
func (d *dir) syncRename(name string) error {
	if runtime.GOOS != "windows" {
		return flush(d.Open("."))
	}
	file, err := d.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return flush(file, err)
}

// flush flushes a file or directory that was opened, and closes it. On Windows, this flushes
// the log of the whole file system, and directories can't be flushed.
func flush(file *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// identity returns the identity of a file and of the lock file. If somebody deletes the
// lock file, two processes may write at the same time, so what one of them wrote may be
// lost. The file then counts as a copy.
func (d *dir) identity(file *os.File) (string, error) {
	id, err := identity(file)
	if err != nil {
		return "", err
	}
	lock, err := identity(d.lock)
	return id + " " + lock, err
}

// tidy removes unfinished files, which are left behind if a process is killed during a
// write.
func (d *dir) tidy() error {
	entries, err := fs.ReadDir(d.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), unfinished) {
			d.Remove(e.Name()) // if that fails, the file only wastes space
		}
	}
	return nil
}

// makeDir makes a directory and any missing parents. Unlike os.MkdirAll, it also waits until
// they are on the disk, except on Windows, where the first write does. Their mode does not
// depend on the umask.
func makeDir(path string, mode fs.FileMode) error {
	above := filepath.Dir(path)
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrNotExist) && above != path {
		if err := makeDir(above, mode); err != nil {
			return err
		}
		err = os.Mkdir(path, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && mode != 0o700 {
		err = os.Chmod(path, mode)
	}
	if err != nil || runtime.GOOS == "windows" {
		return err
	}
	return flush(os.Open(above))
}
