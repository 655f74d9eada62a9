//go:build !linux

package filestore

// bootID returns "", because we know no such text of these systems.
func bootID() string { return "" }
