//go:build linux || darwin

package dbtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownedDir creates a directory for a private server. It returns the directory and a
// function that makes a command run as its owner, which is normally the current user.
// Database servers refuse to run as root though, so if that's who we are, the owner is
// the given account, or nobody if there's no such account. If fast is true, the directory
// may be in memory.
func ownedDir(account string, fast bool) (dir string, asOwner func(*exec.Cmd), err error) {
	// We need a new session for two reasons. A ^C that is meant for the tests must not
	// reach the server, and the warden must not get the SIGHUP that the kernel sends if
	// its owner exits while the server is stopped.
	attr := &syscall.SysProcAttr{Setsid: true}
	temp := os.TempDir()
	if fast {
		temp = memory()
	}
	if os.Geteuid() == 0 {
		if attr.Credential, err = credential(account); err != nil {
			return "", nil, err
		}
		if !openToAll(temp) {
			temp = "/tmp"
		}
	}
	dir, err = os.MkdirTemp(temp, "snowkey-")
	if err != nil {
		return "", nil, err
	}
	if err := giveTo(account, dir); err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	return dir, func(cmd *exec.Cmd) { cmd.SysProcAttr = attr }, nil
}

// memory returns the folder for files that need not survive a crash of the machine. It
// is in memory if TMPDIR is not set and there is enough room. Containers often have only
// 64 MB.
func memory() string {
	const shm, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	const writable = 2
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(shm, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room || syscall.Access(shm, writable) != nil {
		return os.TempDir()
	}
	return shm
}

// giveTo makes an account the owner of dir if we're root. Otherwise, servers run as the
// current user, who owns it already.
func giveTo(account, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	c, err := credential(account)
	if err != nil {
		return err
	}
	return os.Chown(dir, int(c.Uid), int(c.Gid))
}

func credential(account string) (*syscall.Credential, error) {
	u, err := user.Lookup(account)
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("no account for the server, neither %s nor nobody: %w", account, err)
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// openToAll reports whether any account can enter dir, and remove its own files there.
func openToAll(dir string) bool {
	for need := fs.FileMode(0o003); ; need = 0o001 {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&need != need {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(filepath.Clean(dir))
	}
}

// locked runs f, making sure that no other process of this user runs it at the same
// time. We use a lock that the kernel releases if the process is killed.
func locked(f func() error) error {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("snowkey-dbtest-%d.lock", os.Getuid()))
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return f()
}
