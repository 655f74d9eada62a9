//go:build nightly

package redisstore

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestNightlyValkey(t *testing.T) {
	t.Parallel()
	server := dbtest.Valkey().Start(t)
	version, err := connect(t, server.Address).Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ = strings.Cut(version, "valkey_version:")
	version, _, _ = strings.Cut(version, "\r")
	t.Log("valkey", version)
	conforms(t, server)
}
