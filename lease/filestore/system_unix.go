//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// untrusted returns why other users than those that mode allows could change the files of
// a directory, or "".
func untrusted(dir fs.FileInfo, mode fs.FileMode) string {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	others := dir.Mode() &^ mode & 0o022
	switch {
	case dir.Mode()&fs.ModeSymlink != 0:
		return "it is a symbolic link, so pass the path that filepath.EvalSymlinks returns"
	case others&0o002 != 0:
		return "all users may write to it"
	case others != 0:
		return "its group may write to it"
	case ok && mode&0o022 == 0 && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Sprintf("it belongs to the user with the number %d, and this process runs as %d", stat.Uid, os.Geteuid())
	}
	return ""
}

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
