// Package lease describes how each process leases its own worker number from a store
// that the application already has, such as its database. As long as the assumptions
// below hold, two processes never issue the same id: not after pauses, kills, lost
// replies or failovers, and not with wrong host clocks.
//
// Programs lease worker numbers by calling snowkey.Open. This package describes the
// protocol, defines the errors that it can return, and has the interface [Store] for
// authors of stores.
//
// # Stored data
//
// An id contains a worker number and a counter, which is the tick and the sequence
// packed into one integer. For each worker number of a namespace and layout, the
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
// It follows that no two ids have both the same worker number and the same counter.
// Clocks, pauses, late requests and expiry only decide which process may continue, and
// when. For example, a process that was suspended for a year may still issue the
// counters below its bound, because every later lease starts at or above that bound.
//
// # Reads and writes
//
// A commit is certain only when the store has replied to a write. A read is not enough,
// because some databases show a commit to readers before it is on the disk, and lose
// it in a crash. So a keeper uses a read in two ways only: to choose what to write
// next, and to learn the token and the revision with which it continues. The keeper
// never issues an id because of a bound that it only read. Because a database writes
// its log in sequence, the reply to a later write also confirms the earlier ones.
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
// In the list below, cap(t) is the end of the tick that contains t + Window +
// MaxClockSkew. A keeper calculates the bound that it requests from the host's clock,
// and the store limits the bound to cap(now) by its own clock, in the same statement.
// So one wrong clock cannot push a bound far ahead.
//
//   - Probe reads the fence, the fingerprint, the store's clock, and one row that
//     is free or expired more than MaxClockSkew ago. Open fails if the host's clock
//     differs from the store's by more than MaxClockSkew.
//   - Add rows inserts the rows that are missing in a range of worker numbers, up
//     to 1,024 at a time. Each new row is free. Its bound is cap(now), which is above
//     everything that a lost row of this worker number can have granted. Existing rows
//     are not changed. So rows can be added safely at any time, even if the request
//     arrives late or the namespace does not exist yet.
//   - Create namespace adds the layout to the namespace. The process that created
//     it adds the first rows. The fence is cap(now + MaxClockSkew), which is above
//     everything that a lost namespace of the same name can have granted. So a new
//     namespace issues its first id MaxClockSkew later. The keeper refuses a layout
//     that can make the same id as another layout of the namespace.
//   - Fence raises the fence to cap(now + MaxClockSkew) and stores the current
//     fingerprint. It never lowers the fence.
//   - Claim sets a new token, increments the revision and raises the bound. Its
//     conditions: the row has the token, the revision and the bound that the probe
//     read; it is free, or expired more than MaxClockSkew ago; the fence is the one
//     that the probe read; the stored fingerprint is the current one; and the
//     store keeps its commits, or the probe reported that it may lose them. The lease
//     starts at the bound or the fence that the probe read, whichever is larger.
//   - Renew also sets a new token, increments the revision and raises the bound, for
//     the holder of a lease and one renewal at a time. It does not check the fence or
//     the fingerprint, but it never renews an expired lease. The keeper issues ids up
//     to the new bound only after the store has replied to the renewal.
//   - Release frees the row and lowers the bound to the first counter that was not
//     used. Before that, the keeper seals the issuer, so that no more ids are issued.
//     A keeper may also release a row after its lease has expired, if no other process
//     has taken the row yet. It then leaves the bound as it is.
//
// Each of these is one statement, except that each row is added in a step of its own.
// If the store did not reply to a request, the request may have been executed, or it
// may still be executed later:
//
//   - If there is no reply to a claim, the keeper reads the row. If the row has the
//     claim's token, the keeper holds the lease, but issues no ids until the store has
//     replied to a renewal. If the row is still free, the keeper claims the same row
//     with another token, so it cannot take two worker numbers.
//   - If there is no reply to a renewal, the keeper reads the row. If the row has the
//     renewal's token, the keeper continues with the row's token and revision, but not
//     with its bound. If the row is unchanged, the keeper sends the renewal again with
//     the same token. In all other cases the lease is lost, and the keeper claims
//     another one.
//   - If the row has a smaller revision than the keeper's last reply, the store has
//     lost commits, for example because an older dump was restored. The keeper raises
//     the fence before it claims again.
//
// # Long ticks
//
// If a layout's ticks are one second or shorter, bounds are whole ticks. A layout with
// longer ticks, which can be days, is called coarse. Its renewals grant blocks of
// counters, which grow while they are used up quickly. So a process that is killed
// wastes its block, and not the rest of the day, because the next lease starts after
// the block.
//
// The first rows of a coarse layout are added before the namespace, one for each
// worker number up to 4,096, and start in the current tick. Rows that are added later
// start in the next tick, because an earlier row of the same worker number may have
// been lost in this one. Package filestore cannot lose a single row, so there all rows
// start in the current tick.
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
// A store can lose commits that it has acknowledged: after a failover to a standby
// that lacks them, a restored backup, or a crash without a flush. If the database was
// replaced or its tables were recreated, the fingerprint changes. The next process
// that claims a lease then raises the fence to cap(now + MaxClockSkew), which is above
// everything that can have been lost, and ids start there. Coarse layouts wait for
// their next tick.
//
// If a store may lose commits without a new fingerprint ([Probe].Volatile), a claim
// grants no ids. It only raises the bound to cap(now + MaxClockSkew), where the lease
// starts, so only its first renewal grants ids. This is called a hold-off. An operator
// can raise the fence by hand with snowkey.Fence.
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
