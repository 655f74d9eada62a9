// Package filestore keeps leases in a directory, for processes that run on one host and
// have no database in common.
//
//	ids, err := snowkey.Open(ctx, filestore.Dir("/var/lib/app/snowkey"), snowkey.Config{})
//
// Open creates the directory if it is missing. It must be on a local disk, and all
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
// If a file has a wrong checksum, calls return a [*FileError], and if it has another
// protocol version, they return a [*lease.VersionError]. In both cases the file is left
// unchanged.
//
// # The lock
//
// Each call locks the directory itself, with flock, for the few milliseconds that it
// takes. There is no lock file that someone could delete, except on Windows, where a
// directory can't be locked but an open file can't be deleted either. When a process is
// killed, the kernel releases its lock. A process that is only stopped during an
// update, by a debugger or in a frozen container, keeps the lock, however. The others
// then issue ids up to their bounds, and have to wait after that until the process
// continues or ends. Even then, no id repeats.
//
// If ctx ends while a call waits for the lock, the call returns a [*LockError]. A call
// that is already waiting for the disk does not end with ctx.
//
// Note that this lock is not the lease, which ends only when it is released or expires.
// So if a process is killed, its worker number becomes free after TTL, as with every
// store.
//
// # The clock
//
// The store's clock is the host's clock. If it is set back, the bounds do not change,
// and leases still start at or above them. A process that starts at that time therefore
// prefers a worker number whose bound is not ahead of the clock.
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
// If a layout has ticks longer than a second, each of its rows starts in the current
// tick, because this store can't lose a single row. However, the whole file can be
// lost. If that happens, wait for the next tick before you start the processes again.
//
// # Sharing leases
//
// [Share] lets the processes of a host pass leases of another store, such as the
// database, on to each other. It is meant for processes that live briefly.
//
//	ids, err := snowkey.Open(ctx, filestore.Share("/run/app/snowkey", sqlstore.Postgres(db)), snowkey.Config{})
//
// A process that leases from the database writes its lease to a file of its own, and
// keeps the file locked until it ends. If it is killed, the kernel unlocks the file. The
// next process locks the file and continues the lease: it has the same worker number and
// token, and starts where the grant of the last process ended. If nothing has been left,
// it leases from the database. So a host has about as many worker numbers as processes
// that run at the same time, no matter how many of them start or are killed. A
// process that lives longer renews its lease in the database every third of Window. One
// that continues a lease renews it first if two thirds have passed since the last renewal.
//
// Ids are unique because of these rules:
//
//  1. Only the process that has locked a file continues the lease in it.
//  2. A process issues a counter only after the file shows it as granted. The next
//     process starts at or above everything that was granted.
//  3. A grant is never above the bound that the store has confirmed in the answer to a
//     write.
//  4. A process removes the lease from its file before it sends a renewal, and writes it
//     again when the store has answered. If there is no answer, the process may still
//     have the lease, so nobody else may find it.
//  5. A file that was copied has no lease, and neither has one of an earlier boot. The
//     file shows its boot and its own identity, as described above. Updates therefore
//     don't wait for the disk.
//
// For the store, all processes that continue a lease one after the other are a single
// process, so the argument of package lease applies to them. As always, clocks decide
// only who may continue and when.
//
// The first grant of a process lasts 0.25 s, and each later one two times as long, up to
// Window. So if a process is killed, the next one starts at most that far ahead of the
// clock. A process does not continue a lease that is more than a second ahead, unless all
// worker numbers are in use.
//
// Note the following differences to leasing directly:
//
//   - Close leaves the lease to the next process of the host. If there is none, the
//     worker number becomes free when the lease expires, after TTL and MaxClockSkew.
//   - The store's row has the label of the process that leased it from there.
//   - Config.PreferSame has no effect on leases that are continued.
//   - Layouts with ticks longer than a second are not shared. On systems other than
//     Linux, nothing is shared, because there is no reliable identity of a boot.
//   - A copy of a virtual machine has the files too. Before you copy one, suspend or end
//     the processes, and then remove the directory. Otherwise, both copies may continue
//     the same lease, for up to Window.
//
// # Who may use the directory
//
// Open creates the directory with mode 0700, because a user who can write there can
// make ids repeat. If processes of several users need it, you should create it
// yourself, with a group that they share and mode 02770, and run the processes with a
// umask of 027 or less.
package filestore
