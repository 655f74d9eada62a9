package dbtest

import (
	"os"
	"syscall"
)

// memory returns the folder for files that need not survive a crash of the machine. It
// is in memory if TMPDIR is not set and there is enough room. Containers often have only
// 64 MB.
func memory() string {
	const shm, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(shm, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return os.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "snowkey-")
	if err != nil { // not writable
		return os.TempDir()
	}
	os.Remove(dir)
	return shm
}
