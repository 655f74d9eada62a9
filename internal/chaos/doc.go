// Package chaos draws ids in real processes against real databases while both
// are killed, stopped, cut off and lied to about the time, and checks every id.
//
// A worker process ([Work]) draws through snowkey.Open and writes to a pipe what
// it has drawn: for each lease the first id, the last and how many. It checks by
// itself that ids ascend within a lease. The [Checker] then only has to see
// that the spans of all leases of a worker number are disjoint, and no id was
// issued twice: a billion ids are a few hundred spans.
//
// An id counts as issued once it is reported. What a process drew in the moment
// before it was killed is not, and harms nobody.
//
// The test runs for half a minute with few processes; make chaos runs it for
// minutes with many. These variables change that:
//
//	SNOWKEY_CHAOS=5m          how long, for each database
//	SNOWKEY_CHAOS_PROCS=32    how many processes
//	SNOWKEY_CHAOS_RATE=500000 ids a second for each process, 0 for all it can
package chaos
