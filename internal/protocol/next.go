//go:build snowkey_next_protocol

// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the version of a program of the future. Tests build one with this tag.
// They check that it and the current program refuse each other's tables.
const Version = 3
