//go:build !snowkey_next_protocol

// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the version that this program reads and writes. It refuses all others.
const Version = 2
