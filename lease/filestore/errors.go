package filestore

import "fmt"

// A DirError reports that the directory can't be used, for instance because it does not
// exist, it is a file, this user may not write to it, or the disk is full.
type DirError struct {
	Path string
	Err  error
}

func (e *DirError) Error() string {
	return fmt.Sprintf("filestore: cannot keep leases in the directory %q: %v; use a directory on a local disk with free space, where this user may create files", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *DirError) Unwrap() error { return e.Err }

// A FileError reports that a file of leases is damaged. The file is not changed. Note
// that a file of another protocol version gives a [*lease.VersionError] instead.
type FileError struct {
	Path   string
	Reason string
	Remedy string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("filestore: %q %s; %s", e.Path, e.Reason, e.Remedy)
}

// A LockError reports that the context of a call ended while other processes had the
// lock. The call had no effect.
type LockError struct {
	Path string // what is locked
	Err  error  // why the wait ended
}

func (e *LockError) Error() string {
	return fmt.Sprintf("filestore: other processes had %q locked: %v; if this persists, one of them is stopped during a write: continue or end it", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *LockError) Unwrap() error { return e.Err }
