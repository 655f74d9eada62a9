// Package leasetest contains [Run], the test suite every [lease.Store] must pass, and
// [Memory], an in-memory store whose faults are controlled by the test.
package leasetest
