// Package lease gives each process a worker number of its own, leased from a
// store that the application already has, in such a way that no clock, pause
// or restart can make two processes issue the same number.
//
// Most programs use it through snowkey.Open. This page is the protocol.
//
// # What is kept
//
// A number has a worker and a counter: tick and sequence packed. For each worker
// of a namespace and a layout the store keeps
//
//	token     random, of the last claim or renewal; empty when the row is free
//	revision  grows with every update
//	bound     the first counter that was never granted
//	expires   when the lease can no longer be renewed, by the store's clock
//	label     who has it, for people
//
// and for the namespace and the layout the fingerprint of the database, a fence,
// below which no claim begins, and how many workers were born.
//
// # Invariants
//
//  1. A number is issued only if its counter is below a bound that the store has
//     confirmed to its issuer, and not below the start of that lease.
//  2. A bound never falls below a counter that was issued.
//  3. A lease starts at or above all bounds that its row had before.
//  4. A row changes only for who names its current token and revision, and each
//     change replaces both. So of two who read the same row, one changes it.
//
// From these no (worker, counter) is issued twice. Clocks, pauses, suspended
// machines, late packets and expiry decide only who may go on and when. A
// process that sleeps for a year and wakes may finish its grant, below its
// bound; everybody else begins above.
//
// # The protocol
//
//	         ┌──────────────────────────── lost ───────────────────────────┐
//	         ▼                                                             │
//	┌─────────────┐  claimed   ┌─────────────┐  due, or bound reached  ┌───┴──────┐
//	│  claiming   ├───────────►│   holding   ├────────────────────────►│ renewing │
//	└─────────────┘            └──┬──────▲───┘                         └───┬──────┘
//	 probe, found, fence,         │      └──────── confirmed, adopted ─────┘
//	 bear, replace, claim         ▼ Close, Suspend
//	                       sealed and released
//
// cap(t) is the end of the tick that holds t + Window + MaxClockSkew. Every bound
// is limited by cap(now) of the store's own clock, read in the same statement,
// so that no host can push it into the future; and it is asked for by the host's
// clock, so that the store's does not either.
//
//   - Probe reads fence and fingerprint, the store's clock, and one row that is
//     free, or expired by MaxClockSkew. A host's clock too far from the store's
//     ends here, when a process starts.
//   - Found adds the layout to the namespace, with a fence at cap(now +
//     MaxClockSkew): above anything that a namespace of this name granted which
//     was lost; the rows that are left of it count as born. So the first number of
//     a new namespace is due MaxClockSkew later. Beside layouts with which it can
//     make the same number it is refused.
//   - Bear counts one more worker as born and adds its row, with the bound 0, in
//     one step. Replace adds a row for a worker that was born and has none, with
//     the bound cap(now): above anything that a lost row can have granted.
//   - Claim sets a fresh token, revision+1 and a raised bound, on the condition
//     that token, revision and bound are those seen, that the row still is free or
//     expired by MaxClockSkew and its worker born, that the fence is the one seen
//     and the fingerprint the database's. The lease starts at the bound seen or the fence, whichever
//     is larger. Without a reply the claimer reads the row: if it carries the token
//     of the claim, the lease is held as if the reply had come; if it is free, it
//     is claimed again, and of the two claims one can have it.
//   - Renew, one at a time, does the same for the holder, on the condition that
//     the lease has not expired: an expired lease is never revived. Only a
//     confirmed renewal raises the limit. Without a reply the holder reads the row:
//     if it carries one of the tokens that it sent, the holder goes on from
//     there; if not, the lease is lost, and dropped whole.
//   - Release seals the issuer by swapping the very word that every number goes
//     through, then lowers the bound to what was used, on the same condition.
//
// # Long ticks
//
// Up to a second, a tick is granted as a whole. Of a longer one, up to days, a
// renewal grants a block of counters, and a bigger one while blocks are used up
// quickly. So a process that is killed takes a block with it, and not the day;
// the next one, and any restart within the day, goes on behind the block.
//
// # Clocks
//
// Each renewal compares the host's clock with the store's. When they come apart,
// the monotonic clock tells which of them has jumped. If it was the host's, the
// issuer is told by how much, and numbers go on with the right time. If it was the
// store's and it went back, nothing is granted until it is right.
//
// # Lost commits
//
// All this rests on one assumption: a commit that the store acknowledged stays.
// A store therefore commits synchronously even where the server's default does
// not, and tells by its fingerprint (system identifier and timeline, or server
// UUID) when it is not the database it was: promoted, or restored. Then the fence
// is raised to cap(now + MaxClockSkew), above all that can have been lost; layouts
// of long ticks wait for their next tick. Where a store cannot tell
// ([Probe].Volatile), a claim grants nothing; it burns up to there, and only its
// first renewal grants. [Fence] does the same by hand.
//
// # What it does not promise
//
// Two primaries that both accept writes for one namespace, a virtual machine
// cloned while it runs (it repeats numbers for up to Window, until the first of
// the two renews, or until its block is used up; [Keeper.Suspend] is for that), databases that are merged, and
// bounds edited by hand. A row that is deleted in use, if the deletion itself is
// lost in a failover. And for layouts of long ticks, the loss of all that is kept
// of a namespace within a tick: a new one of its name begins in the same tick.
package lease
