//go:build !clients

package entid_test

import "testing"

func TestClients(t *testing.T) {
	t.Skip(`these tests need ent's clients: run "make test/entid/internal/ent/client.go" once, then go test -tags clients`)
}
