//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openLock opens the directory, because we lock the directory itself. We can't use a
// lock file, since someone could delete it while it's locked, and a new file would have
// another lock.
func openLock(root *os.Root) (*os.File, error) { return root.Open(".") }

// tryLock tries to lock the file and reports whether it succeeded. Closing the file
// unlocks it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// identity returns a string that differs from that of every other existing file. If the
// system provides an inode generation, it also differs from those of deleted files.
func identity(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.ErrUnsupported
	}
	return fmt.Sprintf("%d.%d", stat.Ino, generation(f)), nil
}

// syncRename waits until the rename of a file to this name is on the disk. On Unix this
// means flushing the directory.
func (d *dir) syncRename(string) error { return d.lock.Sync() }

func syncDir(path string) (err error) {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return dir.Sync()
}
