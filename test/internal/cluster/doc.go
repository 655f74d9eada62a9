// Package cluster starts clusters and a proxy for the tests of make nightly. Other tests use
// package dbtest, whose servers start in a second or two.
//
//   - [Galera] and [GroupReplication] are clusters whose members fail. Those of the first can
//     also be partitioned.
//   - [Etcd] and [ZooKeepers] are clusters of stores.
//   - [Pgpool] stands between a test and two Postgres servers.
package cluster
