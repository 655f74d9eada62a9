//go:build snowkey_next_protocol

// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the protocol version of a future release. Tests use this build tag to
// build a program that must not accept the tables of the current program, nor the
// reverse.
const Version = 3
