package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// untrusted returns "", because the mode of a directory says nothing about who may write
// to it.
func untrusted(fs.FileInfo, fs.FileMode) string { return "" }

// tryLock tries to lock the file and reports whether it succeeded. Closing the file
// unlocks it.
func tryLock(f *os.File) (bool, error) {
	const exclusively, immediately = 2, 1
	const isLocked = syscall.Errno(33) // ERROR_LOCK_VIOLATION
	var at syscall.Overlapped
	ok, _, err := lockFileEx.Call(f.Fd(), exclusively|immediately, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, isLocked), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}

// identity returns a string that no other file has. The index of NTFS also counts how
// often an entry was used, so even deleted files had different ones.
func identity(f *os.File) (string, error) {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d", info.FileIndexHigh, info.FileIndexLow), nil
}
