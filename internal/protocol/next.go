//go:build snowkey_next_protocol

// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the protocol version of a future release. Tests build a program with this
// build tag, to check that it and the current program refuse each other's tables.
const Version = 3
