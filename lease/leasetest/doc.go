// Package leasetest has [Run], the suite that every [lease.Store] must pass, and
// [Memory], a store for tests with faults that the test configures.
package leasetest
