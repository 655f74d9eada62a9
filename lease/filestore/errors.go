package filestore

import "fmt"

// A DirError says that the directory cannot be used: it is not there, it is a
// file, this user may not write to it, the disk is full.
type DirError struct {
	Path string
	Err  error
}

func (e *DirError) Error() string {
	return fmt.Sprintf("filestore: no leases in the directory %q: %v; give Dir one on a local disk with room, where this user may make files", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *DirError) Unwrap() error { return e.Err }

// A FileError says that a file of leases is damaged. It is left as it is. A file of
// another protocol version is a [*lease.VersionError] instead.
type FileError struct {
	Path   string
	Reason string
	Remedy string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("filestore: %q %s; %s", e.Path, e.Reason, e.Remedy)
}

// A LockError says that a call waited until its context ended, because other
// processes had the lock. It has done nothing.
type LockError struct {
	Path string // what is locked
	Err  error  // why the wait ended
}

func (e *LockError) Error() string {
	return fmt.Sprintf("filestore: other processes had %q locked: %v; if that lasts, one of them was stopped while it wrote: let it go on, or end it", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *LockError) Unwrap() error { return e.Err }
