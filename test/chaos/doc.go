// Package chaos draws ids in real processes with real servers, and checks all of them for
// duplicates. In the meantime it kills and stops the processes and the server, cuts the
// network, and sets their clocks wrong.
//
// # Stores
//
// The test runs on each kind of store in backends. To add one, write a file
// backend_NAME_nightly_test.go with its [backend], add it to backends, and add its name to
// dbtest if SNOWKEY_TEST_DB does not know it. A backend says how to start a server or a
// cluster, how a worker process opens the store, and what harm can be done.
//
// # The check
//
// The ids that a worker process ([Work]) draws form runs. A run is a range of ids,
// every one of which was drawn by the process. The process writes the first and the
// last id of each run to a pipe. At the end, the test looks for runs that overlap. Note that
// this is exact:
//
//   - Because every id of a run was drawn, two runs overlap if and only if some id was
//     issued more than once.
//   - The check doesn't depend on anything but the runs. In particular, it doesn't
//     matter how many leases a process had, or which replies of the server arrived.
//
// An id is considered issued once its process has reported it, which happens after no
// more than 64 calls. If the process is killed, everything that it has reported is
// still in the pipe. However, we lose up to 64 calls, or up to 4,096 ids of one call,
// and a duplicate among these can't be found.
//
// A worker process also records the grants that its issuer receives. The test fails if
// any id is outside of all grants, or above the counter at which its grant was sealed.
//
// # Slow machines
//
// Nothing fails because it takes long: after each fault, the test waits until ids flow
// again, for up to three minutes. If leases expire although nothing happens, it starts
// again with a longer Window.
//
// # After a failure
//
// The test keeps the evidence in a directory, whose name it prints:
//
//	process N.log  the log of a worker process, its orders and grants
//	runs.txt       the runs, and the duplicate ids if there are any
//	rows.txt       the rows of the store, and a probe with its fence
//
// The test's own log has the faults and the recovery times.
//
// # Length
//
// TestChaos takes ten seconds. TestNightlyChaos, with the build tag nightly, has all faults
// and stores, and clusters have tests of their own. You can change these with variables:
//
//	SNOWKEY_TEST_DB=mysql  on which stores
//	SNOWKEY_CHAOS=5m       how long, for each store; 0s for each fault once
//	SNOWKEY_CHAOS_KEEP=dir where to keep the evidence of a failure; it must exist
package chaos
