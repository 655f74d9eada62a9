// Package leasetest contains [Run], the test suite every [lease.Store] must pass.
package leasetest
