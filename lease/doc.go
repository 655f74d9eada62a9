// Package lease describes how each process leases its own worker number from a store
// that the application already has, such as its database. As long as the assumptions
// below hold, two processes never issue the same id, even if processes are paused or
// killed, replies are lost, the database fails over, or a host's clock is wrong.
//
// Most programs don't need to import this package, because snowkey.Open leases the
// worker number for them. Package lease describes the protocol, defines the errors that
// snowkey.Open and the pool can return, and has the interface [Store] for authors of
// stores.
//
// # Stored data
//
// An id contains a worker number and a counter, which is the tick and the sequence
// packed into one integer. The store has a row for each worker number of a namespace
// and layout:
//
//	token     random, set by the last claim or renewal; empty if the row is free
//	revision  incremented by each update
//	bound     the first counter that was never granted
//	expires   the time after which the lease cannot be renewed, by the store's clock
//	label     the process that holds or held it, for people
//
// The store also keeps a fence for each namespace and layout, together with a
// fingerprint that identifies the database. No lease starts below the fence.
//
// # Invariants
//
//  1. A process issues an id only if its counter is at or above the start of the
//     lease, and below a bound that the store confirmed to this process in the
//     answer to a committed write.
//  2. A bound is never at or below a counter that was issued.
//  3. A lease starts at or above every bound that its row had before.
//  4. An update of a row is conditional on the token and the revision that the writer
//     expects, and replaces both. So if two updates of the same revision are sent
//     concurrently, only one of them succeeds.
//
// It follows that no two ids have both the same worker number and the same counter.
// Note that this doesn't depend on clocks, pauses, late requests or expiry, which only
// decide which process may continue, and when. For example, a process that was
// suspended for a year may still issue the counters below its bound, because every
// later lease starts at or above that bound.
//
// # Reads and writes
//
// A commit is certain only once the store has replied to the write. Reading the row
// isn't enough, because some databases show a commit to readers before it is on the
// disk, and lose it if they crash. A keeper therefore uses reads only to choose what to
// write next and to learn the token and the revision with which it continues. It must
// never issue an id because of a bound that it has only read. Since a database writes
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
// The rules of this list are written in two places: in the SQL statements of package
// sqlstore, and in Go for all other stores, in internal/kvlease and internal/leaserule.
// There, a store only reads, and compares and sets what was read.
//
// In the list below, cap(t) is the end of the tick that contains t + Window +
// MaxClockSkew. The keeper uses the host's clock to calculate the bound that it
// requests, and that bound is limited to cap(now) by the store's clock. This means that one
// wrong clock can't push a bound far ahead. In SQL, now is the time of the statement. In
// kvlease, it is the time of the read, so the statement may be executed later.
//
//   - Probe reads the fence, the fingerprint, the store's clock, and one row that
//     is free or expired more than MaxClockSkew ago. Open fails if the host's clock
//     differs from the store's by more than MaxClockSkew.
//   - Add rows inserts the rows that are missing in a range of worker numbers, up to
//     1,024 at a time. Each new row is free. Its bound is cap(now + MaxClockSkew), which
//     is above everything that a lost row of this worker number can have granted, even
//     if the store's clock has gone back since. Existing rows are not changed, so it is
//     always safe to add rows, even if the request arrives late or the namespace does
//     not exist yet.
//   - Create namespace adds the layout to the namespace, unless the layout can make the
//     same id as another layout of the namespace. In that case the keeper refuses it.
//     The process that created the namespace also adds the first rows. The fence is
//     cap(now + MaxClockSkew), which is above everything that a lost namespace of the
//     same name can have granted, so a new namespace can't issue its first id until
//     MaxClockSkew has passed.
//   - Fence raises the fence to cap(now + MaxClockSkew) and stores the current
//     fingerprint. It never lowers the fence.
//   - Claim sets a new token, increments the revision and raises the bound. It only
//     takes effect if the row still has the token, the revision and the bound that the
//     probe read; the row is free, or expired more than MaxClockSkew ago; the fence is
//     still the one that the probe read; the stored fingerprint is the current one; and
//     the store keeps its commits, or the probe reported that it may lose them. The
//     lease starts at the bound or the fence that the probe read, whichever is larger.
//   - Renew also sets a new token, increments the revision and raises the bound, but
//     for the holder of a lease, and for one renewal at a time. It doesn't check the
//     fence or the fingerprint, but it never renews an expired lease. The keeper must
//     not issue ids up to the new bound until the store has replied to the renewal.
//   - Release frees the row and lowers the bound to the first counter that was not
//     used. The keeper must seal the issuer first, so that no more ids are issued. It
//     can also release a row whose lease has expired, as long as no other process has
//     taken the row yet, but in that case it leaves the bound unchanged.
//
// snowkey.OpenBackfill reserves a row for ids of past times, which have counters from 0 up.
// It claims a row whose revision is 0 and whose bound is not below the fence, with a token
// that shows the name of the backfill and with a TTL of 100 years. If it finds that token, it
// renews the row.
//
// Each of these is one statement or swap, except that every row is added in a step of its
// own. If there is no reply to a request, we can't tell whether the store has executed it
// already, will execute it later, or never will:
//
//   - If there is no reply to a claim, the keeper reads the row. If the row has the
//     claim's token, the keeper holds the lease, but must not issue ids until the store
//     has replied to a renewal. If the row is still free, the keeper claims the same
//     row again with another token rather than trying a different row, so that it can't
//     end up with two worker numbers.
//   - If there is no reply to a renewal, the keeper reads the row. If the row has the
//     renewal's token, the keeper continues with the row's token and revision, but not
//     with its bound. If the row is unchanged, the keeper sends the renewal again with
//     the same token. Otherwise the lease is lost, and the keeper claims another one.
//   - If the row has a smaller revision than the keeper's last reply, the store has
//     lost commits, perhaps because someone restored an older dump. In that case the
//     keeper must raise the fence before it claims again.
//
// # Long ticks
//
// If a layout's ticks are one second or shorter, bounds are whole ticks. That would be
// wasteful for a layout with longer ticks, which can be days, because a process that is
// killed would take the rest of the day with it. For these layouts, which we call
// coarse, a renewal instead grants a block of counters, and the blocks grow while they
// are used up quickly. The next lease starts after the block, so only the block is
// wasted.
//
// The first rows of a coarse layout, one for each worker number up to 4,096, are added
// before the namespace and start in the current tick. Rows that are added later have to
// start in the next tick, because an earlier row of the same worker number may have
// been lost in this one.
//
// Package filestore is an exception, with ticks of any length. It can lose a row only
// together with the namespace, whose fence protects it. So all of its rows start in the
// current tick.
//
// # Clocks
//
// Each renewal compares the host's clock with the store's. If they differ by more than
// MaxClockSkew, the monotonic clock shows which of them has jumped. If it was the
// host's, the keeper corrects the issuer by the difference, so ids continue with the
// right time. If the store's clock jumped back, however, nothing is granted until it is
// right again.
//
// # Lost commits
//
// A store can lose commits that it has acknowledged, for example after a failover to a
// standby that lacks them, after a backup is restored, or in a crash without a flush.
// If the database was replaced or its tables were recreated, the fingerprint changes.
// The next process that claims a lease notices this and raises the fence to cap(now +
// MaxClockSkew), which is above everything that can have been lost, and ids continue
// from there. Coarse layouts have to wait for their next tick.
//
// Some stores may lose commits without a new fingerprint ([Probe].Volatile). On these,
// a claim grants no ids. Instead, it only raises the bound to cap(now + MaxClockSkew),
// where the lease starts, and the first renewal is what grants ids. This is called a
// hold-off. Since a claim may be executed later than it was computed, the lease starts at
// that cap of the time of the reply. An operator can also raise the fence by hand with
// snowkey.Fence.
//
// # Assumptions
//
// Ids are unique as long as the following assumptions hold. See package sqlstore for
// the details of each database.
//
//	Assumption                 Servers and settings that keep it      Check                                If it does not hold
//	-------------------------  -------------------------------------  -----------------------------------  -------------------------------------
//	A commit that was          PostgreSQL: fsync = on; each write     PostgreSQL: not when leasing;        Hold-off: a claim only burns what may
//	answered is on the disk.   sets synchronous_commit = on. MySQL    Doctor reports fsync = off. The      have been granted, and the next
//	                           and MariaDB:                           other databases: each probe, claim   renewal grants. Coarse layouts get a
//	                           innodb_flush_log_at_trx_commit = 1     and renewal reads the settings.      PermanentError. After a crash with
//	                           and, with a binary log, sync_binlog =                                       fsync = off, or with a setting that
//	                           1. Package filestore, also for SQLite:                                      the crash reset, call Fence.
//	                           a local disk.
//
//	A write is committed when  All, with any autocommit,              The write runs on one connection     The connection is discarded and
//	it is answered.            completion_type, isolation level, and  and proves that it was committed;    another one is used. After 8 of them
//	                           with transactions that the             see package sqlstore.                the write fails, and the keeper tries
//	                           application left open, XA included.                                         again.
//
//	The database is the one    One server. Replicas that have all     Each claim compares the              The fence is raised before the next
//	that granted the leases.   commits. Others only if the            fingerprint. A keeper compares the   claim. A snapshot of a disk or
//	                           fingerprint shows the change.          revision of its row with the one     machine, and some restores of tables,
//	                                                                  that it was answered.                are not detected: call Fence.
//	                                                                                                       docs/leases.md lists them.
//
//	Only this package changes  Tables without triggers, rules and     Open reads the catalog, also with     Open returns a PermanentError.
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
//	writes.                    Clusters that certify each commit:                                          number and bound: ids repeat.
//	                           Galera, Group Replication.
//
// # What is not covered
//
//   - Two primaries that both accept writes for one namespace, or databases that are
//     merged. The members of a cluster are covered if they agree on each commit, as
//     those of Galera and Group Replication do.
//   - A virtual machine that is cloned while it runs. It repeats ids for up to Window,
//     until one of the two renews, or until its block is used up. To avoid this, call
//     idgen.Pool.Suspend before the copy.
//   - A row that is deleted while its lease is in use, if a failover then loses the
//     deletion.
//   - Coarse layouts whose namespace loses its own row together with all lease rows. A
//     new namespace of the same name starts in the current tick, so it may repeat ids
//     of this tick.
//   - Bounds edited by hand.
package lease
