// Package cluster starts clusters, poolers and load balancers for the tests of make
// nightly. Other tests use package dbtest, whose servers start in a second or two.
//
//   - [Galera] and [GroupReplication] are clusters whose members fail. [SeparateGroup] is
//     one whose members can also be partitioned.
//   - [Etcd] and [ZooKeepers] are clusters of stores, and [Sentinel] makes a Redis fail
//     over.
//   - [PgBouncer], [Pgpool] and [HAProxy] stand between a test and its database.
package cluster
