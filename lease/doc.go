// Package lease describes how each process leases its own worker number from a store
// that the application already has, such as its database. As long as the assumptions
// below hold, two processes never issue the same id: not after pauses, kills, lost
// replies or failovers, and not with wrong host clocks.
//
// Programs call snowkey.Open. This package has the protocol, the errors, and the
// interface [Store] for authors of stores.
//
// # Stored data
//
// An id has a worker number and a counter. The counter is the tick and the
// sequence in one integer. For each worker number of a namespace and layout the
// store has a row:
//
//	token     random, set by the last claim or renewal; empty if the row is free
//	revision  incremented by each update
//	bound     the first counter that was never granted
//	expires   the time after which the lease cannot be renewed, by the store's clock
//	label     the process that holds or held it, for people
//
// For each namespace and layout it also has a fingerprint, which identifies the
// database, and a fence. No lease starts below the fence.
//
// # Invariants
//
//  1. A process issues an id only if its counter is at or above the start of the
//     lease, and below a bound that the store confirmed to this process in the
//     answer to a committed write.
//  2. A bound is never at or below a counter that was issued.
//  3. A lease starts at or above every bound that its row had before.
//  4. An update of a row names the token and the revision that it expects, and
//     replaces both. Of two concurrent updates of one revision, one succeeds.
//
// It follows that no worker number and counter are issued in two ids. Clocks,
// pauses, late requests and expiry only decide which process may continue, and
// when. A process that was suspended for a year may still use the rest of its
// grant, below its bound. Every later lease starts at or above that bound.
//
// # Reads and writes
//
// Only the answer to a write proves anything. Some databases show a commit to
// readers before it is on the disk, and forget it in a crash. So a keeper uses a
// read in two ways only: to choose what to write next, and to learn the token and
// the revision with which it continues. It never issues an id because of a bound
// that it only read. The log of a database is sequential, so a later write that
// was answered proves the earlier ones too.
//
// # The protocol
//
//	         ┌──────────────────────────── lost ───────────────────────────┐
//	         ▼                                                             │
//	┌─────────────┐  claimed   ┌─────────────┐  due, or bound reached  ┌───┴──────┐
//	│  claiming   ├───────────►│   holding   ├────────────────────────►│ renewing │
//	└─────────────┘            └──┬──────▲───┘                         └───┬──────┘
//	 probe, add rows,             │      └───────── answered, or ──────────┘
//	 create namespace,            │              found in the row
//	 fence, claim                 ▼ Close, Suspend
//	                       sealed and released
//
// cap(t) is the end of the tick that contains t + Window + MaxClockSkew. A keeper
// requests each bound by the host's clock. The store limits it to cap(now) by its
// own clock, in the same statement. So one wrong clock cannot push a bound far
// ahead.
//
//   - Probe reads the fence, the fingerprint, the store's clock, and one row that
//     is free or expired more than MaxClockSkew ago. Open fails if the host's clock
//     differs from the store's by more than MaxClockSkew.
//   - Add rows inserts the rows that are missing in a range of worker numbers, up
//     to 1,024 at a time. Each row starts free, with the bound cap(now): above everything
//     that a lost row of this worker number can have granted. Rows that exist are
//     left alone. So adding rows is safe at any time, also late, and before the
//     namespace exists.
//   - Create namespace adds the layout to the namespace. The process that created
//     it adds the first rows. The fence is cap(now + MaxClockSkew), above everything that a lost namespace of
//     the same name can have granted. So the first id of a new namespace is due
//     MaxClockSkew later. The keeper refuses a layout that can make the same id as
//     another layout of the namespace.
//   - Fence raises the fence to cap(now + MaxClockSkew) and stores the current
//     fingerprint. It never lowers the fence.
//   - Claim sets a new token, increments the revision and raises the bound. Its
//     conditions: the row has the token, the revision and the bound that the probe
//     read; it is free, or expired more than MaxClockSkew ago; the fence is the one
//     that the probe read; the stored fingerprint is the current one; and the
//     store keeps its commits, or the probe said that it may not. The lease starts
//     at the larger of that bound and that fence.
//   - Renew does the same for the holder of a lease, one renewal at a time. It
//     needs no fence and no fingerprint, but the lease must not have expired: an
//     expired lease is never renewed. Only the answer to a renewal raises the bound
//     below which ids are issued.
//   - Release comes after the issuer is sealed, so no id is issued any more. It frees
//     the row and lowers the bound to the first counter that was not used. It may come
//     after the lease has expired: the keeper frees a row that nobody has taken yet,
//     and leaves its bound as it is.
//
// Each of these is one statement, and each row that is added is a step of its own.
// A request without an answer may have been executed, or may be executed later:
//
//   - After a claim without an answer, the keeper reads the row. If the row has
//     the token of the claim, the keeper holds the lease, but issues nothing before
//     a renewal was answered. If the row is still free, the keeper claims the same
//     row with another token, so it cannot take two worker numbers.
//   - After a renewal without an answer, the keeper reads the row. If the row has
//     the token of the renewal, the keeper takes its token and revision, but not its
//     bound. If the row is unchanged, it sends the renewal again with the same token.
//     In all other cases the lease is lost, and the keeper claims another one.
//   - If the row has a smaller revision than the last answer, the store has
//     forgotten commits: an older dump was restored. The keeper raises the fence
//     before it claims again.
//
// # Long ticks
//
// A lease of ticks up to one second gets whole ticks. A layout with longer ticks,
// up to days, is coarse. Its renewals grant blocks of counters, and larger blocks
// while they are used up quickly. A process that is killed wastes its block, not
// the rest of the day. The next lease starts after the block.
//
// The first rows of a coarse layout are added before the namespace, one for each
// worker number up to 4,096. They start in the current tick. Rows that are added
// later start in the next tick, because the row may have been lost in this one.
// Package filestore loses no single row, so there all rows start now.
//
// # Clocks
//
// Each renewal compares the host's clock with the store's. If they differ by more
// than MaxClockSkew, the monotonic clock shows which of them has jumped. If the
// host's clock jumped, the keeper corrects the issuer by the difference, and ids
// continue with the right time. If the store's clock jumped back, nothing is
// granted until it is right again.
//
// # Lost commits
//
// A store can lose commits that it has answered: after a failover to a standby
// that lacks them, a restored backup, or a crash without a flush. The fingerprint
// shows when the database is another one, or when its tables were recreated. Then
// the next claim raises the fence to cap(now + MaxClockSkew), above everything that
// can have been lost, and ids start there. Coarse layouts wait for their next
// tick.
//
// Where a store may lose commits without a new fingerprint ([Probe].Volatile), a
// claim grants nothing. It raises the bound to cap(now + MaxClockSkew), and only its
// first renewal grants. This is a hold-off. snowkey.Fence raises the fence by hand.
//
// # Assumptions
//
// Ids are unique as long as these hold. Package sqlstore has the details for each
// database.
//
//	Assumption                 Servers and settings that keep it      Check                                If it does not hold
//	-------------------------  -------------------------------------  -----------------------------------  -------------------------------------
//	A commit that was          PostgreSQL: fsync = on; each write     PostgreSQL: not when leasing;        Hold-off: a claim only burns what may
//	answered is on the disk.   sets synchronous_commit = on. MySQL    Doctor reports fsync = off. The      have been granted, and the next
//	                           and MariaDB:                           other databases: each probe, claim   renewal grants. Coarse layouts get a
//	                           innodb_flush_log_at_trx_commit = 1     and renewal reads the settings.      PermanentError. After a crash with
//	                           and, with a binary log, sync_binlog =                                       fsync = off, or with a setting that
//	                           1. SQLite: synchronous = FULL or                                            the crash reset, call Fence.
//	                           EXTRA. Package filestore: a local
//	                           disk.
//
//	A write is committed when  All, with any autocommit,              The write runs on one connection     The connection is discarded and
//	it is answered.            completion_type, isolation level, and  and proves that it was committed;    another one is used. After 8 of them
//	                           with transactions that the             see package sqlstore.                the write fails with a
//	                           application left open, XA included.                                         sqlstore.SessionError, and the keeper
//	                                                                                                       tries again.
//
//	The database is the one    One server. Replicas that have all     Each claim compares the              The fence is raised before the next
//	that granted the leases.   commits. Others only if the            fingerprint. A keeper compares the   claim. A snapshot of a disk or
//	                           fingerprint shows the change.          revision of its row with the one     machine, and some restores of tables,
//	                                                                  that it was answered.                are not detected: call Fence.
//	                                                                                                       docs/leases.md lists them.
//
//	Only this package changes  Tables without triggers, rules and     Open reads the catalog, also with     Open returns a sqlstore.TableError.
//	the rows.                  row-level security; on MySQL and       SkipMigrate.                         Not detected: objects that are added
//	                           MariaDB with the engine InnoDB.                                             later, bounds edited by hand, and
//	                                                                                                       triggers on MySQL and MariaDB if the
//	                                                                                                       user lacks the TRIGGER privilege.
//
//	Equal names are equal      All, with any character set of the     Not needed: names and labels are     -
//	bytes.                     session.                               stored as ASCII with escapes, in
//	                                                                  columns with a binary collation.
//
//	All processes use one      Releases of Snowkey that know the      Open compares the version of the     Open returns a VersionError, and
//	protocol version.          same version. This one knows version   tables, and a probe the version of   nothing is written.
//	                           2.                                     the namespace. Each update has it
//	                                                                  as a condition.
//
//	The clocks of servers      NTP on each server.                    Not between servers. Open compares   Ids may repeat after a failover that
//	that replace each other                                           the host's clock with the store's.   lost commits.
//	differ by at most
//	MaxClockSkew.
//
//	All processes have the     Your configuration.                    No.                                  The fence may be too low after lost
//	same Window and                                                                                        commits: ids may repeat then, and
//	MaxClockSkew.                                                                                          only then.
//
//	One server accepts         One primary for the namespace.         No.                                  Two primaries grant the same worker
//	writes.                                                                                                number and bound: ids repeat.
//
// # What is not covered
//
//   - Two primaries that both accept writes for one namespace, and databases that
//     are merged.
//   - A virtual machine that is cloned while it runs. It repeats ids for up to Window,
//     until one of the two renews, or until its block is used up. Call
//     idgen.Pool.Suspend before the copy.
//   - A row that is deleted while its lease lives, if a failover then loses the
//     deletion.
//   - Coarse layouts: a namespace that loses its own row and all lease rows. A new
//     namespace of the same name starts in the current tick, so it may repeat ids
//     of this tick.
//   - Bounds edited by hand.
package lease
