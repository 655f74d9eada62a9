// Package lease gives each process a worker number of its own, leased from a
// store that the application already has, in such a way that no clock, pause
// or restart can make two processes issue the same number.
//
// Most programs use it through snowkey.Open. This page is the protocol.
//
// # What is kept
//
// A number has a worker and a counter: tick and sequence packed. For each worker
// of a namespace the store keeps
//
//	token     random, of the last claim or renewal; empty when the row is free
//	revision  grows with every update
//	bound     the first counter that was never granted
//	expires   when others may claim the row, by the store's clock
//	label     who has it, for people
//
// and for the namespace its layout, the fingerprint of the database, and a fence,
// below which no claim begins.
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
//	 probe, bear,                 │      └──────── confirmed, adopted ─────┘
//	 fence, claim                 ▼ Close
//	                       sealed and released
//
// cap(t) is the end of the tick that holds t + Window + MaxClockSkew. Every bound
// is limited by cap(now) of the store's own clock, read in the same statement,
// so that no host can push it into the future.
//
//   - Probe reads the namespace, the store's clock, and one random row that is
//     free or expired. Another layout, or a host's clock too far from the store's,
//     ends here.
//   - Bear adds a row for a worker that has none, with the bound cap(now): above
//     anything that a row lost from the same place can have granted.
//   - Claim sets a fresh token, revision+1 and a raised bound, on the condition
//     that token and revision are those seen, that the row still is free or
//     expired, and that fence, layout and fingerprint are those of the namespace. The
//     lease starts at the bound seen or the fence, whichever is larger. A claim
//     without a reply is abandoned with its token, and expires by itself.
//   - Renew, one at a time, does the same for the holder, on the condition that
//     the lease has not expired: an expired lease is never revived. Only a
//     confirmed renewal raises the limit. Without a reply the holder reads the row:
//     if it carries one of the tokens that it sent, the holder goes on from
//     there; if not, the lease is lost, and dropped whole.
//   - Release seals the issuer by swapping the very word that every number goes
//     through, then lowers the bound to what was used, on the same condition.
//
// # Lost commits
//
// All this rests on one assumption: a commit that the store acknowledged stays.
// A store therefore commits synchronously even where the server's default does
// not, and tells by its fingerprint (system identifier and timeline, or server
// UUID) when it is not the database it was: promoted, or restored. Then the fence
// is raised to cap(now), above all that can have been lost. Where a store cannot
// tell ([Probe].Volatile), a claim grants nothing; it burns up to cap(now), and
// only its first renewal grants.
//
// # What it does not promise
//
// Two primaries that both accept writes for one namespace, a virtual machine
// cloned while it runs (it repeats numbers for up to Window, until the first of
// the two renews), databases that are merged, and bounds edited by hand.
package lease
