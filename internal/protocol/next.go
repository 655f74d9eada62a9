//go:build snowkey_next_protocol

// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the version of a later release. Tests build a program with this tag, to
// see that it and today's program refuse each other's tables.
const Version = 3
