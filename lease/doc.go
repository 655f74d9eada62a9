// Package lease describes how processes lease worker numbers from a store the application
// already has, such as its database. A worker number is the part of an id that keeps the
// ids of two processes different. Under the assumptions listed below, two processes never
// issue the same id, even if a process is paused or killed, a reply is lost, the database
// fails over, or a host's clock is wrong.
//
// Programs usually don't import this package, because snowkey.Open does the leasing. Read
// on to learn how the protocol works, to handle an error that snowkey.Open or the pool
// returns, or to write a [Store].
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
// For each namespace and layout, the store also has a fence and a fingerprint. The fence
// is the lowest counter at which a new lease can start. The fingerprint identifies the
// database, so that a process can tell whether the database has been replaced.
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
// These invariants imply that no two ids have both the same worker number and the same
// counter. Clocks, pauses, late requests and expiry cannot change that: they only decide
// which process may continue, and when. For example, a process that was suspended for a
// year can still safely issue the counters below its bound, because every later lease of
// its worker number has started at or above that bound.
//
// # Reads and writes
//
// A write counts as committed only when the store has replied to it. Reading the new
// values is not enough: some databases show a commit to readers before it's on disk, and
// a crash can then undo it. Keepers (the part of a process that renews its lease) use
// reads only to decide what to write next, and to get the token and revision to continue
// with. They must never issue ids below a bound that they have only read.
//
// A reply to a write also confirms the writes before it, because databases write their
// log in sequence.
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
// These rules are implemented twice: as SQL in package sqlstore, and in Go for every
// other store, in internal/kvlease. The Go rules only require that the store can read
// values, and can set them if they haven't changed since.
//
// cap(t) is the largest bound that may be granted at the time t: the end of the tick
// containing t + Window + MaxClockSkew. A keeper requests a bound by the host's clock,
// and the store limits it to cap(now) by its own clock. This way, a single wrong clock
// can't push a bound far ahead. In SQL, now is the time of the statement. In kvlease, now
// is the time of the read, and the write may happen some time later.
//
//   - Probe reads the fence, the fingerprint, the store's clock, and one row that can be
//     claimed: it's free, or its lease expired more than MaxClockSkew ago. Open fails if
//     the clocks of the host and the store are more than MaxClockSkew apart.
//   - Add rows inserts the missing rows in a range of worker numbers, up to 1,024 at a
//     time. New rows are free and have the bound cap(now + MaxClockSkew). This is above
//     anything that a lost row for the same worker number could have granted, even if the
//     store's clock has gone back by up to MaxClockSkew. Adding rows doesn't change
//     existing rows, so it's always safe, even if the request arrives late or the
//     namespace doesn't exist yet.
//   - Create namespace adds the layout to the namespace. The keeper refuses this if the
//     layout could generate the same ids as another layout of the namespace. The fence of
//     the new namespace is cap(now + MaxClockSkew), which is above anything that a lost
//     namespace of the same name could have granted. This means that the first id has to
//     wait for MaxClockSkew. The process that creates the namespace also adds the first
//     rows.
//   - Fence raises the fence to cap(now + MaxClockSkew), and never lowers it. It also
//     stores the current fingerprint.
//   - Claim takes a row for a new lease: it sets a new token, increments the revision and
//     raises the bound. The lease starts at the bound or the fence that the probe read,
//     whichever is larger. A claim only takes effect if the row still has the token,
//     revision and bound that the probe read; the row is free, or its lease expired more
//     than MaxClockSkew ago; the fence hasn't changed since the probe; the stored
//     fingerprint is the current one; and the store keeps its commits, or the probe
//     reported that it may lose them.
//   - Renew extends the lease of the current holder. Like a claim, it sets a new token,
//     increments the revision and raises the bound. It doesn't depend on the fence and
//     the fingerprint, and fails if the lease has expired. A keeper sends one renewal at a
//     time, and must not use the new bound until the store has replied.
//   - Release frees the row, and lowers its bound to the first unused counter. Before
//     that, the keeper must seal the issuer, so that it issues no more ids. An expired
//     lease can still be released if no other process has taken the row, but its bound
//     stays as it is.
//
// snowkey.OpenBackfill reserves a row for ids with times in the past, such as those of
// imported rows. These ids use counters from 0 up. OpenBackfill looks for a row with
// revision 0 and a bound not below the fence, and claims it with a TTL of 100 years and a
// token containing the name of the backfill. If a row already has that token, it renews
// that row.
//
// Every step is a single statement or swap, except that rows are added one by one. If the
// store doesn't reply to a request, the keeper can't know whether the store has executed
// it, will do so later, or never will. It then does the following:
//
//   - After a claim without a reply, the keeper reads the row. If the row has the claim's
//     token, the keeper holds the lease, but it must not issue ids until the store has
//     replied to a renewal. If the row is still free, the keeper claims the same row again
//     with another token. (If it claimed a different row, it could end up with two worker
//     numbers.)
//   - After a renewal without a reply, the keeper reads the row too. If the row has the
//     renewal's token, the keeper continues with the row's token and revision, but not
//     with its bound. If the row is unchanged, the keeper sends the renewal again with the
//     same token. Otherwise the lease is lost, and the keeper claims another one.
//   - If the row has a smaller revision than in the store's last reply, the store has lost
//     commits, for example because an older dump was restored. The keeper must raise the
//     fence before it claims again.
//
// # Long ticks
//
// A layout is coarse if its ticks are longer than one second. For other layouts, bounds
// are whole ticks. With a coarse layout, that would waste ids: ticks can last days, and
// whenever a process is killed, the rest of its day's ids would be lost. A lease of a
// coarse layout is therefore granted blocks of counters. A block is larger than the one
// before if that was used up quickly. The next lease starts right after the last block,
// so a crash only wastes the rest of one block.
//
// A coarse layout's first rows (one for each worker number, up to 4,096) are added before
// the namespace, and start in the current tick. Rows that are added later must start in
// the next tick, because an earlier row for the same worker number might have been lost
// during the current one.
//
// In package filestore, rows that are added later can start in the current tick too,
// because it can't lose a row without losing the whole namespace.
//
// # Clocks
//
// Each renewal compares the host's clock with the store's clock. If they are more than
// MaxClockSkew apart, the monotonic clock shows which one has jumped. If the host's clock
// has jumped, the keeper corrects the issuer by the difference, and ids continue with the
// right time. If the store's clock has jumped back, the store grants nothing until its
// clock is right again.
//
// # Lost commits
//
// A store can lose commits that it has acknowledged: in a failover to a standby that
// doesn't have them yet, when a backup is restored, or in a crash before they are on
// disk. Replacing the database or recreating its tables changes the fingerprint. The next
// process that claims a lease notices this, and raises the fence to cap(now +
// MaxClockSkew), which is above anything that could have been lost. Ids continue from the
// fence. Coarse layouts wait for their next tick.
//
// Some stores could lose commits without the fingerprint changing ([Probe].Volatile).
// Each new lease on such a store begins with a hold-off: the claim grants no ids, and only
// raises the bound to cap(now + MaxClockSkew). The first renewal then grants ids above
// that. Because the store might execute a claim some time after the keeper computed it,
// the lease starts at the cap for the time of the reply.
//
// For losses that no process can notice, operators raise the fence with snowkey.Fence.
//
// # Assumptions
//
// Ids are unique as long as these assumptions hold. Package sqlstore has the details for
// each database.
//
//   - A commit that the store has acknowledged is on disk. docs/leases.md#durability has the
//     settings that databases need. Package filestore needs a local disk, also for SQLite.
//     On MySQL and MariaDB, each probe, claim and renewal reads the settings. If they're
//     weaker, each new lease begins with a hold-off, and coarse layouts get a
//     PermanentError. On PostgreSQL, only Doctor reports them.
//   - A write is committed when the server replies to it. Package sqlstore verifies this
//     for each write, because a connection may have autocommit turned off, or a
//     transaction that the application left open (XA included). If it isn't committed, the
//     store discards the connection and uses another one. After 8 connections the write
//     fails, and the keeper tries again.
//   - The database is the one that granted the leases, or has all of its commits. To check
//     this, each claim compares the fingerprint, and a keeper compares the revision of its
//     row with the one in the last reply. If one of them differs, the fence is raised
//     before the next claim. A snapshot of a disk or machine, and some restores of tables,
//     aren't detected: call Fence. The full list is in docs/leases.md.
//   - Only Snowkey changes the rows. Open returns a PermanentError for tables with
//     triggers, rules or row-level security, or on MySQL and MariaDB an engine other than
//     InnoDB, even with SkipMigrate. It can't detect objects that are added later, bounds
//     edited by hand, or triggers on MySQL and MariaDB if the user lacks the TRIGGER
//     privilege.
//   - Equal names are stored as equal bytes. This holds for any character set of a
//     session, because names and labels are stored as ASCII with escapes, in columns with
//     a binary collation.
//   - All processes use the same protocol version (this is version 2). Open and each probe
//     compare it, and each update has it as a condition. A process with another version
//     gets a VersionError.
//   - The clocks of servers that may replace each other differ by at most MaxClockSkew, so
//     these servers need NTP. Otherwise ids may repeat after a failover that lost commits.
//     Open can't check this: it only compares the host's clock with the current server's.
//   - All processes in a namespace have the same Window and MaxClockSkew. This isn't
//     checked. Otherwise the fence may be too low after lost commits, and ids may repeat.
//   - Only one server accepts writes, or a cluster that certifies each commit, such as
//     Galera or Group Replication. This isn't checked. Two primaries would grant the same
//     worker number and bound, so ids would repeat. The same is true of two databases that
//     are merged.
//
// # What is not covered
//
//   - Cloning a running virtual machine. Both copies may issue the same ids for up to
//     Window + MaxClockSkew, or until their block is used up. To avoid this, call
//     idgen.Pool.Suspend before making the copy.
//   - Deleting a row while its lease is in use, if a failover then loses the deletion.
//   - Losing all rows of a namespace with a coarse layout. A new namespace with the same
//     name starts in the current tick, so it may repeat ids from that tick.
package lease
