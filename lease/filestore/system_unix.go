//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openLock opens the directory, because the directory itself is locked. A lock file could
// be deleted while it is locked, and a new lock file would have another lock.
func openLock(root *os.Root) (*os.File, error) { return root.Open(".") }

// tryLock tries to lock the file and reports whether it did. Closing the file unlocks it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// identity returns a text that no other existing file has. If the system provides an inode
// generation, no deleted file has had the same text either.
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

// syncRename waits until the rename of a file to this name is on the disk.
func (d *dir) syncRename(string) error { return d.lock.Sync() }

func syncDir(path string) (err error) {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return dir.Sync()
}
