//go:build !clients

package matrix

// Make generates the client that the suite uses ent with, and sets the tag clients.
// Without the tag the suite leaves ent out.
var entIntegrations []integration
