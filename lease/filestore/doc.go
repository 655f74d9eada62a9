// Package filestore keeps leases in a directory, for the processes of one host
// that have no database in common.
//
//	ids, err := snowkey.Open(ctx, filestore.Dir("/var/lib/app/snowkey"), snowkey.Config{})
//
// Open makes the directory if it is missing. It must lie on a local disk, and all
// who use it on one host, in containers or not. Numbers go by the order in which
// processes start: 0, 1, 2, and the least that is free before the next.
//
// # Files
//
// Each namespace has one file, of a line with version and checksum and JSON that
// people can read. It has all rows, because a claim needs the namespace and a row
// as they are at one time, and they are few: only numbers that were in use have
// one. Some hundred processes are served well. An update writes a new file
//
//  1. under a name of its own, and waits until its content is on the disk,
//  2. gives it the name of the one before, which is gone then,
//  3. and waits until that is on the disk too.
//
// Only then does the caller hear of it. A process that is killed, or a machine
// that loses power, leaves the old file or the new one, whole. So does a full
// disk. That the disk keeps what it has acknowledged is all that is assumed.
//
// A file whose checksum is wrong, or whose version this package does not know, is
// refused with a [*FileError] and left alone.
//
// # The lock
//
// Every call locks the directory itself, with flock, for the few milliseconds
// that it takes. A lock file would have to be guarded against who deletes it; on
// Windows, where a directory cannot be locked and an open file not be deleted,
// there is one. The kernel frees the lock when its holder is killed. If its
// holder is stopped in the middle of an update (a debugger, a frozen container),
// all others wait: their ids go on until their bounds, and then come to a halt
// until it goes on or ends. No id is repeated either way.
//
// Waiting ends when ctx does, with a [*LockError]. Waiting for the disk does not.
//
// A lease is not a lock that is held: it ends when it is given back or expires.
// The number of a process that is killed is free after its TTL, as with every
// store.
//
// # The clock
//
// The store's time is the host's. When that is set back, bounds stay, and leases
// begin at or above them, now or when the time comes: a process that starts takes
// a number whose bound is not ahead, if there is one.
//
// # Copies and backups
//
// A file says which one it is: its number in the file system and, on Linux, its
// generation there, because ext4 gives the number of a deleted file to the next.
// On Windows it is the index of NTFS, which has both. A file that says it is
// another was copied or restored from a backup (cp, tar, rsync, git), and may
// not know what was granted since. The next claim then raises the fence above
// all that can have been. A reboot, another container with the same volume, chown,
// chmod and a directory that is renamed change nothing. The host's and the
// device's numbers do not count: they differ between containers and between
// boots, and would have a layout of long ticks wait for its next tick.
//
// It cannot be seen when a whole file system or machine is put back from a
// snapshot, and when a file is moved away and back. Call snowkey.Fence then. On
// other systems than those above, file numbers alone must do; where they are
// reused, call it after any restore.
//
// # Who may use the directory
//
// Open makes it with mode 0700, because whoever can write there can have ids
// repeat. For processes of several users make it yourself, of a group that they
// share and mode 02770, and give them a umask of 027 or less.
package filestore
