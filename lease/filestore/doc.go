// Package filestore keeps leases in the files of a directory. Use it for processes that
// run on a single host and share no database.
//
//	ids, err := snowkey.Open(ctx, filestore.Dir("/var/lib/app/snowkey"), snowkey.Config{})
//
// snowkey.Open creates the directory if it's missing. The directory must be on a local
// file system, and all processes that use it must run on the same host (containers are
// fine). Processes get the worker numbers 0, 1, 2 and so on in the order they start. A
// number that has become free is used again before a new one.
//
// # Files
//
// Each namespace has one file. The first line has a checksum and the protocol version
// (currently 2), the rest is JSON that people can read. The file contains all of the
// namespace's rows, because a claim must see the namespace and a row at the same point in
// time. It's small enough for several hundred processes, because rows are only added as
// they're needed. An update of the file
//
//  1. writes a new file under another name, and waits until its content is on disk,
//  2. renames it over the old file,
//  3. and waits until the rename is on disk as well.
//
// Only then does the call return. If the process is killed, the machine loses power, or
// the disk is full, the complete old file or the complete new file remains. This requires
// a disk that keeps the data it has reported as flushed.
//
// Reads don't flush the file, so a read may return an update that isn't on disk yet, if
// the process that wrote it was killed. This cannot cause duplicates, because processes
// never issue an id because of a read.
//
// If a file has a wrong checksum, calls return an error. If it has a different protocol
// version, they return a [*lease.VersionError]. In both cases, they don't change the file.
//
// # The lock
//
// Each call of the store locks the file snowkey-lock in the directory for a few
// milliseconds. Locking requires write access to that file. The kernel releases the lock
// when a process is killed, but not when it's stopped during an update, for example by a
// debugger or in a frozen container. In that case, the other processes issue ids up to
// their bounds, and then wait until the stopped process continues or ends. Ids don't
// repeat.
//
// Don't delete the lock file. Without it, all lease files count as copies (see Copies and
// backups below). If the directory is renamed or deleted while a call is waiting for the
// lock, the call returns an error and grants nothing.
//
// A call that is waiting for the lock returns an error when ctx ends. A call that is
// waiting for the disk isn't interrupted.
//
// The lock is not the lease. A lease ends when it's released or when it expires. As with
// every other store, the worker number of a killed process becomes free after TTL and
// MaxClockSkew.
//
// # The clock
//
// The store uses the host's clock. When the clock is set back, ids don't repeat, because
// bounds stay as they are and leases start at or above them. A process that starts then
// prefers a worker number whose bound isn't ahead of the clock.
//
// A new namespace starts above anything that a lost namespace of the same name could have
// granted, even if the clock was set back by up to MaxClockSkew afterwards. This means
// that its first id has to wait for MaxClockSkew.
//
// # Copies and backups
//
// The store detects a lease file that was copied, or restored from a backup, for example
// with cp, tar, rsync or git. Such a file may lack the latest grants, so the next claim
// raises the fence above anything that could have been granted.
//
// For this, each file contains its own identity: the inode number, and on Linux also the
// inode generation (ext4 reuses the numbers of deleted files). On Windows, it's the NTFS
// file index, which includes both. A reboot, mounting the volume in another container,
// chown, chmod and renaming the directory don't change the identity.
//
// The store can't detect a restored snapshot of a whole file system or machine, or a file
// that was moved away and back. Call snowkey.Fence after one of these. On systems other
// than Linux and Windows, the identity is only the inode number. If your file system
// reuses inode numbers, call snowkey.Fence after every restore.
//
// # Layouts with long ticks
//
// If your layout has ticks longer than a second and you lose the namespace's file, wait
// for the next tick before you start the processes again. The new namespace starts in the
// current tick, so it could otherwise repeat ids.
//
// # Who may use the directory
//
// Anybody with write access to the directory can make ids repeat. For that reason,
// snowkey.Open creates it with mode 0700, and files with mode 0600. It returns a
// [lease.PermanentError] if the directory is a symbolic link, if its owner isn't root or
// the process's user, or if the group or everyone can write to it without [Mode].
//
// To share the directory between several users, create it with mode 02770 and a group
// they all belong to, and pass [Mode] in every process:
//
//	filestore.Dir("/var/lib/app/snowkey", filestore.Mode(0o770))
//
// If leases don't have to survive a reboot, use a directory in /run or $XDG_RUNTIME_DIR.
// Don't use /tmp or /dev/shm, where another user could create the directory first.
package filestore
