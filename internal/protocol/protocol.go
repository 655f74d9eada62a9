// Package protocol holds the version of the tables and files of Snowkey.
package protocol

// Version is the protocol version that this program reads and writes. Anything with
// another version is rejected.
const Version = 2

// Forever is the TTL of rows that are reserved: 100 years, in microseconds.
const Forever = 100 * 365 * 24 * 3_600_000_000
