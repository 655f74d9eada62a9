package filestore

import (
	"math/bits"
	"os"
	"syscall"
	"unsafe"
)

// generation returns the inode generation, which differs between files that have had
// the same inode number. We need it because ext4 reuses the numbers of deleted files.
// It is 0 if the file system has none, as on tmpfs, which doesn't reuse numbers.
func generation(f *os.File) (n uint32) {
	const getVersion = 2<<30 | bits.UintSize/8<<16 | 'v'<<8 | 1 // FS_IOC_GETVERSION
	syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), getVersion, uintptr(unsafe.Pointer(&n)))
	return n
}
