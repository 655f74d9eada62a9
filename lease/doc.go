// Package lease describes how each process leases a worker number of its own from a store
// the application already has, such as its database. Given the assumptions listed further
// down, two processes never issue the same id. Pausing or killing a process doesn't
// change that, and neither do lost replies, a database failover, or a host whose clock is
// wrong.
//
// You usually won't import this package, since snowkey.Open takes care of leasing. Read
// on if you want to know how the protocol works, need to handle one of the errors that
// snowkey.Open and the pool can return, or plan to write a [Store].
//
// # Stored data
//
// An id contains a worker number and a counter: the tick and the sequence packed into one
// integer. For each namespace and layout, the store has one row per worker number:
//
//	token     random, set by the last claim or renewal; empty if the row is free
//	revision  incremented by each update
//	bound     the first counter that was never granted
//	expires   the time after which the lease cannot be renewed, by the store's clock
//	label     the process that holds or held it, for people
//
// It also keeps a fence and a fingerprint for each namespace and layout. Leases can't
// start below the fence, and the fingerprint identifies the database.
//
// # Invariants
//
//  1. A process issues an id only if its counter is at or above the start of the lease,
//     and below a bound that the store confirmed to this process by replying to a
//     committed write.
//  2. A bound is always above every counter already issued.
//  3. A lease starts at or above every bound its row has ever had.
//  4. Updates to a row are conditional on the token and revision the writer expects, and
//     replace both. When two updates of the same revision are sent concurrently, only one
//     of them will succeed.
//
// It follows that no two ids share both a worker number and a counter. Clocks, pauses,
// late requests and expiry don't enter into it: they only decide which process may
// continue, and when. A process could be suspended for a year and then safely issue
// what's left below its bound, because all later leases will have started at or above
// that bound.
//
// # Reads and writes
//
// A commit is only certain once the store has replied to the write. Finding the new
// values in the row isn't enough, since some databases let readers see a commit before
// it's on disk (and then lose it in a crash). Keepers therefore only use reads to decide
// what to write next, and to pick up the token and revision to continue with. A bound
// that has only been read must never be used for issuing ids. Replies also cover earlier
// writes: databases write their log in sequence, so once a later write is confirmed, so
// are the ones before it.
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
// There are two implementations of these rules: as SQL in package sqlstore, and in Go for
// every other store, in internal/kvlease. The latter only requires the store to read
// values, and to compare and set what was read.
//
// In the list below, cap(t) is the end of the tick containing t + Window + MaxClockSkew.
// Keepers use the host's clock to calculate the bound to request, and the store then
// limits it to cap(now) by its own clock, so a single wrong clock can't push a bound far
// ahead. In SQL, now is the time of the statement. In kvlease it's the time of the read,
// and the statement might run some time later.
//
//   - Probe reads the fence, the fingerprint, the store's clock, and one row that's free
//     or expired more than MaxClockSkew ago. Open fails if the clocks of host and store
//     are more than MaxClockSkew apart.
//   - Add rows inserts the missing rows in a range of worker numbers, up to 1,024 at a
//     time. New rows are free, with a bound of cap(now + MaxClockSkew). That's above
//     anything that a lost row for the same worker number could have granted, even if the
//     store's clock has gone back in the meantime. Existing rows aren't touched, so
//     adding rows is always safe, including when the request arrives late or the
//     namespace doesn't exist yet.
//   - Create namespace adds the layout to the namespace, unless it could generate the
//     same ids as a layout that's already there, in which case the keeper refuses it. The
//     process that creates the namespace also adds the first rows. The fence is cap(now +
//     MaxClockSkew), again to stay above anything a lost namespace of the same name could
//     have granted. As a result, the first id has to wait for MaxClockSkew to pass.
//   - Fence raises the fence to cap(now + MaxClockSkew) and stores the current
//     fingerprint. It never lowers the fence.
//   - Claim sets a new token, increments the revision and raises the bound. It only takes
//     effect if all of this is true: the row still has the token, revision and bound the
//     probe read; the row is free, or expired more than MaxClockSkew ago; the fence
//     hasn't changed since the probe; the stored fingerprint is the current one; and the
//     store keeps its commits, or the probe reported that it may lose them. The lease
//     starts at the bound or at the fence from the probe, whichever is larger.
//   - Renew also sets a new token, increments the revision and raises the bound, but it's
//     for the current holder, and only one renewal is in progress at a time. It ignores
//     the fence and the fingerprint, and it won't revive an expired lease. Until the
//     store has replied, the keeper must not issue ids up to the new bound.
//   - Release frees the row and lowers its bound to the first unused counter. The keeper
//     must seal the issuer beforehand so that no more ids are issued. Releasing works
//     even after the lease has expired, provided nobody else has taken the row yet, but
//     in that case the bound stays where it is.
//
// snowkey.OpenBackfill reserves a row for ids with times in the past, using counters from
// 0 up. It looks for a row with revision 0 and a bound not below the fence, and claims it
// with a TTL of 100 years and a token containing the name of the backfill. If there's
// already a row with that token, it renews that row instead.
//
// Every step is a single statement or swap, except that rows are added one by one. When a
// request gets no reply, there's no telling whether the store has already executed it,
// will do so later, or never will:
//
//   - After a claim without a reply, the keeper reads the row. Finding the claim's token
//     there means that it holds the lease, but it must not issue ids until the store has
//     replied to a renewal. If the row is still free, the keeper claims the same row
//     again with another token. (Trying a different row could leave it with two worker
//     numbers.)
//   - After a renewal without a reply, it reads the row as well. With the renewal's token
//     there, the keeper carries on with the row's token and revision, but not its bound.
//     If the row is unchanged, it sends the renewal again, reusing the token. Anything
//     else means that the lease is lost, and the keeper claims another one.
//   - A row with a smaller revision than in the keeper's last reply is proof that the
//     store has lost commits, e.g. because somebody restored an older dump. The keeper
//     must then raise the fence before claiming again.
//
// # Long ticks
//
// With ticks of one second or less, bounds are whole ticks. That would be wasteful with
// longer ticks (they can last days), as you'd lose the rest of the day's
// ids whenever a process is killed. Layouts with ticks above one second, which we call
// coarse, are granted blocks of counters instead. Blocks grow while they're being used up
// quickly, and since the next lease starts right after the block, a crash only wastes the
// current one.
//
// The first rows of a coarse layout (one for each worker number, up to 4,096) are added
// before the namespace and start in the current tick. Rows added later have to start in
// the next tick, in case an earlier row for the same worker number was lost during this
// one.
//
// Package filestore is an exception, with ticks of any length. It can't lose a row
// without losing the whole namespace, and a new namespace is protected by its fence, so
// all rows can start in the current tick.
//
// # Clocks
//
// Each renewal compares the clocks of host and store. When they're more than MaxClockSkew
// apart, the monotonic clock shows which one has jumped. If it was the host's clock, the
// keeper corrects the issuer by the difference and ids continue with the right time. If
// the store's clock has jumped back, nothing will be granted until it's right again.
//
// # Lost commits
//
// Stores can lose commits they've acknowledged: when failing over to a standby that
// doesn't have them yet, when a backup is restored, or when a crash hits before the
// flush. Replacing the database or recreating its tables changes the fingerprint. The
// next process to claim a lease notices and raises the fence to cap(now + MaxClockSkew),
// which is above anything that could have been lost, and ids continue from there. Coarse
// layouts have to wait for their next tick.
//
// Some stores could lose commits without the fingerprint changing ([Probe].Volatile).
// Claims on these stores don't grant any ids. They only raise the bound to cap(now +
// MaxClockSkew), and it takes the first renewal to grant ids above that. We call this a
// hold-off. Because a claim might be executed well after it was computed, the lease
// starts at the cap for the time of the reply. Operators can also raise the fence by
// hand, with snowkey.Fence.
//
// # Assumptions
//
// Ids are unique as long as the following assumptions hold. See package sqlstore for the
// details of each database.
//
//   - An answered commit is on the disk. This takes fsync = on for PostgreSQL; for MySQL
//     and MariaDB, innodb_flush_log_at_trx_commit = 1 and, with a binary log, sync_binlog
//     = 1; and a local disk for package filestore, also for SQLite. Each probe, claim and
//     renewal reads these settings, except for fsync, which Doctor reports. If they're
//     weaker, leases hold off, and coarse layouts get a PermanentError. After a crash with
//     fsync = off, or with a setting that the crash reset, call Fence.
//   - An answered write is committed, with any autocommit, completion_type and isolation
//     level, and with transactions the application left open (XA included). Package
//     sqlstore proves this for each write. It discards up to 8 connections where it
//     can't, then the write fails and the keeper tries again.
//   - The database is the one that granted the leases, or has all of its commits. Each
//     claim compares the fingerprint, and a keeper compares the revision of its row with
//     the one in the last answer. If one differs, the fence is raised before the next
//     claim. A snapshot of a disk or machine, and some restores of tables, aren't
//     detected: call Fence. The full list is in docs/leases.md.
//   - Only this package changes the rows. Open reads the catalog, also with SkipMigrate,
//     and returns a PermanentError for tables with triggers, rules or row-level security,
//     or on MySQL and MariaDB an engine other than InnoDB. What isn't detected: objects
//     added later, bounds edited by hand, and triggers on MySQL and MariaDB if the user
//     lacks the TRIGGER privilege.
//   - Equal names are equal bytes. With any character set of the session they are, since
//     names and labels are stored as ASCII with escapes, in columns with a binary
//     collation.
//   - All processes use one protocol version (this is version 2). Open and each probe
//     compare it, each update has it as a condition, and the error is a VersionError.
//   - The clocks of servers that replace each other differ by at most MaxClockSkew, so
//     they need NTP. Open only compares the host's clock with the store's. Otherwise ids
//     may repeat after a failover that lost commits.
//   - All processes have the same Window and MaxClockSkew, which isn't checked. Otherwise
//     the fence may be too low after lost commits. Ids may repeat then, and only then.
//   - One server accepts writes, or a cluster that certifies each commit, such as Galera
//     or Group Replication. This isn't checked. Two primaries grant the same worker number
//     and bound, so ids repeat. The same goes for databases that are merged.
//
// # What is not covered
//
//   - Cloning a running virtual machine. It may repeat ids for up to Window, until one of
//     the two renews, or until its block is used up. Call idgen.Pool.Suspend before
//     making the copy to avoid this.
//   - Deleting a row while its lease is in use, if a failover then loses the deletion.
//   - Coarse layouts where the namespace's own row is lost together with all of the lease
//     rows. A new namespace with the same name starts in the current tick, so it may
//     repeat ids from that tick.
package lease
