// Package filestore keeps leases in a directory, for processes of one host that
// have no database in common.
//
//	ids, err := snowkey.Open(ctx, filestore.Dir("/var/lib/app/snowkey"), snowkey.Config{})
//
// Open creates the directory if it is missing. It must be on a local disk. All
// processes that use it must run on one host, in containers or not. Processes get
// worker numbers in the order in which they start: 0, 1, 2. A free number is used
// again before a new one.
//
// # Files
//
// Each namespace has one file. The first line contains the protocol version, which is
// 2, and a checksum. The rest is JSON, which people can read. All rows of a namespace
// are in the same file, because a claim needs the namespace and a row at one point in
// time. The file stays small, because rows are added one at a time. This works well for
// some hundred processes. An update
//
//  1. writes a new file under another name, and waits until its content is on the
//     disk,
//  2. renames it to the name of the old file, which replaces the old file,
//  3. and waits until the rename is on the disk.
//
// After that the call returns. If the process is killed, the machine loses power, or
// the disk is full, either the complete old file or the complete new file is there. The
// package assumes only that the disk keeps what it reported as flushed.
//
// A read does not flush the file. If the process that wrote an update was killed, a
// read may therefore return an update that is not on the disk yet. This is safe, because
// keepers never issue an id because of a read.
//
// If a file has a wrong checksum, calls return a [*FileError], and if it has another
// protocol version, they return a [*lease.VersionError]. The file is not changed.
//
// # The lock
//
// Each call locks the directory itself, with flock, for the few milliseconds that
// it takes. There is no lock file that someone could delete, except on Windows,
// where a directory cannot be locked and an open file cannot be deleted. The kernel
// releases the lock when the process is killed. If a process is stopped during an
// update, by a debugger or in a frozen container, all others wait. They issue ids
// up to their bounds, and then wait until the process continues or ends. No id
// repeats.
//
// If ctx ends while a call waits for the lock, the call returns a [*LockError]. A call
// that waits for the disk does not end with ctx.
//
// This lock is not the lease: a lease ends only when it is released or expires. So the
// worker number of a process that is killed is free after TTL, as with every store.
//
// # The clock
//
// The store's clock is the host's clock. If the clock is set back, the bounds do not
// change, and leases still start at or above them. A process that starts prefers a
// worker number whose bound is not ahead of the clock.
//
// # Copies and backups
//
// A file stores its own identity: the inode number and, on Linux, the inode
// generation, because ext4 reuses the numbers of deleted files. On Windows it is
// the file index of NTFS, which includes both. If the stored identity differs from the
// actual one, the file was copied or restored from a backup (cp, tar, rsync, git), so
// it may lack what was granted since. The next claim then raises the fence above
// everything that can have been granted. A reboot, another container with the same
// volume, chown, chmod and a renamed directory do not change the identity. The
// identity does not contain host and device numbers, because they differ between
// containers and boots.
//
// The package does not detect a snapshot of a whole file system or machine that was
// restored, or a file that was moved away and back. Call snowkey.Fence then. On
// systems other than Linux and Windows only the inode number is known. If the file
// system reuses inode numbers, call snowkey.Fence after each restore.
//
// # Layouts with long ticks
//
// In this store each row of a layout with ticks longer than a second starts in the
// current tick, because a file does not lose a single row. If the file itself is
// lost, start the processes again in the next tick.
//
// # Who may use the directory
//
// Open creates it with mode 0700, because a user who can write there can make ids
// repeat. For processes of several users, create it yourself: with a group that
// they share, mode 02770, and a umask of 027 or less for the processes.
package filestore
