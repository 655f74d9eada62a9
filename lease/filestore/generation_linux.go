package filestore

import (
	"math/bits"
	"os"
	"syscall"
	"unsafe"
)

// generation tells apart the files that have had one number: ext4 gives that of
// a deleted file to the next. It is 0 where a file system has none; tmpfs, for
// one, repeats no number.
func generation(f *os.File) (n uint32) {
	const getVersion = 2<<30 | bits.UintSize/8<<16 | 'v'<<8 | 1 // FS_IOC_GETVERSION
	syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), getVersion, uintptr(unsafe.Pointer(&n)))
	return n
}
