// Package filestore keeps leases in a directory, for processes that run on one host and
// have no database in common.
//
//	ids, err := snowkey.Open(ctx, filestore.Dir("/var/lib/app/snowkey"), snowkey.Config{})
//
// Open creates the directory if it is missing. It must be on a local file system, and all
// processes that use it must run on one host, in containers or not. Processes get
// worker numbers in the order in which they start: 0, 1, 2. A number that has become
// free is reused before a new one is taken.
//
// # Files
//
// Each namespace has one file. The first line contains a checksum and the protocol
// version, which is currently 2, and the rest is human-readable JSON. All rows of a
// namespace are in the same file, because a claim needs the namespace and a row at one
// point in time. Since rows are added one at a time, the file stays small, which works
// well for some hundred processes. An update
//
//  1. writes a new file under another name, and waits until its content is on the
//     disk,
//  2. renames it to the name of the old file, which replaces the old file,
//  3. and waits until the rename is on the disk.
//
// Only then does the call return. If the process is killed, the machine loses power, or
// the disk is full, either the complete old file or the complete new file is there. All
// that the package relies on is that the disk keeps what it reported as flushed.
//
// A read does not flush the file, so if the process that wrote an update was killed, a
// read may return an update that is not on the disk yet. This may look dangerous, but
// it is safe because keepers never issue an id because of a read.
//
// If a file has a wrong checksum, calls return an error, and if it has another protocol
// version, they return a [*lease.VersionError]. In both cases the file is left unchanged.
//
// # The lock
//
// Each call locks the file snowkey-lock in the directory for the few milliseconds that it
// takes. Only users who may write to that file can lock it. When a process is killed, the
// kernel releases its lock. A process that is only stopped during an update, by a debugger
// or in a frozen container, keeps the lock, however. The others then issue ids up to their
// bounds, and have to wait after that until the process continues or ends. Even then, no
// id repeats.
//
// Don't delete the lock file. If you do, all files of leases count as copies; see below.
// The directory may be renamed or deleted while a call waits. The call then returns an
// error, and grants nothing.
//
// If ctx ends while a call waits for the lock, the call returns an error. A call that is
// already waiting for the disk does not end with ctx.
//
// Note that this lock is not the lease, which ends only when it is released or expires.
// So if a process is killed, its worker number becomes free after TTL and MaxClockSkew,
// as with every store.
//
// # The clock
//
// The store's clock is the host's clock. If it is set back, the bounds do not change,
// and leases still start at or above them. A process that starts at that time therefore
// prefers a worker number whose bound is not ahead of the clock.
//
// A namespace that is new starts above everything that a lost one can have granted, even
// if the clock was set back by up to MaxClockSkew in the meantime. So its first id has to
// wait for MaxClockSkew.
//
// # Copies and backups
//
// A file stores its own identity: the inode number and, on Linux, also the inode
// generation, because ext4 reuses the numbers of deleted files. On Windows, the
// identity is the file index of NTFS, which includes both. If the stored identity
// differs from the actual one, the file was copied or restored from a backup (cp, tar,
// rsync, git), which means that it may lack what was granted since. In that case the
// next claim raises the fence above everything that can have been granted. The identity
// survives a reboot, another container with the same volume, chown, chmod and a renamed
// directory. It does not contain host and device numbers, because they differ between
// containers and boots.
//
// The package can't detect a snapshot of a whole file system or machine that was
// restored, or a file that was moved away and back, so you need to call snowkey.Fence
// afterwards. On systems other than Linux and Windows, only the inode number is known.
// If the file system reuses inode numbers there, call snowkey.Fence after each restore.
//
// # Layouts with long ticks
//
// Each row starts in the current tick, because this store can't lose a single row. If
// the whole file is lost, the fence of the new namespace protects its ids, but that of a
// layout with ticks longer than a second is in the current tick too. If you lose such a
// file, wait for the next tick before you start the processes again.
//
// # Who may use the directory
//
// A user who can write to the directory can make ids repeat. So Open creates it with mode
// 0700, and the files with mode 0600. A directory that belongs to another user than root
// and the process's, one that its group or all users may write to, and a symbolic link are
// refused with a [lease.PermanentError].
//
// If processes of several users need the directory, create it with a group that they
// share and mode 02770, and pass [Mode] in all of them:
//
//	filestore.Dir("/var/lib/app/snowkey", filestore.Mode(0o770))
//
// If the leases need not survive a reboot, a directory in /run or $XDG_RUNTIME_DIR is
// best. Don't use one in /tmp or /dev/shm, where another user can create it first.
package filestore
