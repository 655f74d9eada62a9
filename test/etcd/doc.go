// Package etcd tests lease/etcdstore with real members of etcd. Each member is a process
// of its own, in which the test binary runs etcd, so a test can kill it, stop it, and cut
// it off from the others. The module is separate because etcd's server has many
// dependencies. The tests run at night, on Linux, on the architectures that etcd supports.
package etcd
