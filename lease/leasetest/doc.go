// Package leasetest tests what keeps and what takes leases: [Run] is the suite
// that every [lease.Store] passes, and [Memory] is a store for the tests of its
// users, which fails on demand.
package leasetest
