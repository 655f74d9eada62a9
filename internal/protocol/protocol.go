//go:build !snowkey_next_protocol

// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is what this program reads and writes. It refuses any other.
const Version = 2
