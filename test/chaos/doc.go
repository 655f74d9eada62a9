// Package chaos draws ids in real processes with real databases, and checks every id
// for duplicates. At the same time it kills and stops the processes and the database,
// cuts the network, and sets the clocks of both wrong.
//
// # The check
//
// The ids that a worker process ([Work]) draws form runs. A run is a range in which the
// process drew every id. The process writes the first and the last id of each run to a
// pipe. The test keeps the runs in a [Journal], a file for each process. At the end the
// [Checker] merges the files and looks for runs that overlap. This is exact:
//
//   - Two runs overlap if and only if an id was issued more than once, because every id
//     of a run was drawn.
//   - The check uses the runs only. How many leases a process had, and which
//     replies of the database arrived, makes no difference.
//
// An id counts as issued when its process has reported it. A process reports
// after at most 64 calls. When it is killed, the pipe still has everything that it has
// reported. Up to 64 calls are unknown, or up to 4,096 ids of one call. A duplicate
// among these is not found.
//
// The memory of the check grows with the number of leases, and not with ids or runs. On disk a run takes about 40 bytes. At full speed a run has millions
// of ids; at a limited rate, about as many as one call draws.
//
// A worker process also records the grants that its issuer receives. The test fails if
// an id is outside all grants, or above the counter at which its grant was sealed.
//
// # After a failure
//
// The test prints the directory in which it keeps the evidence:
//
//	process N.log   the log of a worker process
//	process N.runs  its orders, its runs, and the grants that its issuer received
//	tables.txt      all columns of all rows of the lease tables
//	test.log        the faults and the recovery times
//	duplicates.txt  the duplicate ids, if there are any
//
// # Length
//
// The test runs for half a minute with few processes. make chaos runs it for
// minutes with many, and make chaos-repeat runs the short test many times on a
// busy machine. These variables change the test:
//
//	SNOWKEY_CHAOS=5m          how long, for each database
//	SNOWKEY_CHAOS_PROCS=32    how many processes
//	SNOWKEY_CHAOS_RATE=500000 ids a second for each process, 0 for no limit
//	SNOWKEY_CHAOS_KEEP=dir    where to keep the evidence of a failure
package chaos
