// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the protocol version that this program reads and writes. Anything with
// another version is rejected.
const Version = 2
