// Package filestore keeps leases in a directory, for processes on a single host that have
// no database in common.
//
//	ids, err := snowkey.Open(ctx, filestore.Dir("/var/lib/app/snowkey"), snowkey.Config{})
//
// Open creates the directory if it's missing. It has to be on a local file system, and
// all processes using it have to run on the same host (containers are fine). Processes
// get the worker numbers 0, 1, 2 and so on in the order they start. Numbers that have
// become free are reused before new ones are taken.
//
// # Files
//
// Each namespace is one file. Its first line has a checksum and the protocol version
// (currently 2), and the rest is human-readable JSON. Claims need to see the namespace
// and a row at the same point in time, which is why all of a namespace's rows are in the
// same file. Rows are added one at a time, so it stays small enough for several hundred
// processes. An update
//
//  1. writes a new file under another name, and waits until its content is on disk,
//  2. renames it over the old file,
//  3. and waits until the rename is on disk as well.
//
// Only then does the call return. If the process gets killed, the machine loses power, or
// the disk fills up, you're left with either the complete old file or the complete new
// one. All this requires is a disk that keeps what it reported as flushed.
//
// Reads don't flush the file. If the process writing an update was killed, a read may
// return that update before it's on disk. That's less dangerous than it looks, because
// keepers never issue an id because of a read.
//
// Calls return an error for a file with a bad checksum, and a [*lease.VersionError] for
// one with a different protocol version. Either way the file is left alone.
//
// # The lock
//
// Each call locks the file snowkey-lock in the directory for the few milliseconds it
// takes. You need write access to that file to lock it. The kernel drops the lock when a
// process is killed. That's not true of a process that is merely stopped during an update
// (by a debugger, say, or in a frozen container): it keeps the lock, so the other
// processes issue ids up to their bounds and then have to wait for it to continue or end.
// Ids still won't repeat.
//
// Don't delete the lock file. If you do, all lease files will count as copies (see
// below). If the directory is renamed or deleted while a call is waiting, the call
// returns an error without granting anything.
//
// Calls waiting for the lock return an error when ctx ends. A call that's already waiting
// for the disk won't be interrupted.
//
// Don't confuse the lock with the lease, which only ends by being released or by
// expiring. As with every other store, a killed process's worker number becomes free
// after TTL and MaxClockSkew.
//
// # The clock
//
// The store uses the host's clock. Setting it back doesn't change any bounds, and leases
// still start at or above them. A process starting at such a time will prefer a worker
// number whose bound isn't ahead of the clock.
//
// New namespaces start above anything that a lost one could have granted, even if the
// clock was set back by up to MaxClockSkew afterwards. As a consequence, the first id has
// to wait for MaxClockSkew.
//
// # Copies and backups
//
// Every file stores its own identity. This is the inode number plus, on Linux, the inode
// generation (ext4 reuses the numbers of deleted files). On Windows it's the NTFS file
// index, which includes both. An identity that doesn't match means the file was copied or
// restored from a backup with something like cp, tar, rsync or git, and might lack what
// has been granted since. The next claim will then raise the fence above anything that
// could have been granted. Rebooting, mounting the volume in another container, chown,
// chmod and renaming the directory don't change the identity. Host and device numbers
// aren't part of it because they differ between containers and boots.
//
// There's no way to detect a restored snapshot of a whole file system or machine, or a
// file that was moved away and back. You need to call snowkey.Fence after one of these.
// On systems other than Linux and Windows, all we have is the inode number. If your file
// system reuses those, call snowkey.Fence after every restore.
//
// # Layouts with long ticks
//
// Rows start in the current tick, because this store can't lose a single row. If the
// whole file is lost, ids are protected by the fence of the new namespace, but with ticks
// longer than a second that fence is in the current tick too. Should you ever lose such a
// file, wait for the next tick before starting the processes again.
//
// # Who may use the directory
//
// Anybody with write access to the directory can make ids repeat. Open creates it with
// mode 0700, and files with mode 0600. It refuses symbolic links, directories owned by
// somebody other than root or the process's user, and those writable by the group or by
// everyone, with a [lease.PermanentError].
//
// To share the directory between several users, create it with mode 02770 and a group
// they all belong to, and pass [Mode] in every process:
//
//	filestore.Dir("/var/lib/app/snowkey", filestore.Mode(0o770))
//
// If leases don't have to survive a reboot, the best place is a directory in /run or
// $XDG_RUNTIME_DIR. Avoid /tmp and /dev/shm, where another user could get there first.
package filestore
