package service_test

import (
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/service"
	"github.com/snowkey-go/snowkey/service/client"
)

// A layout of 53 bits has few ids per tick, so a replica sends fewer at once than the client
// asks for. The client gets them all nevertheless.
func TestManyIDsBelow53Bits(t *testing.T) {
	ids := dbtest.Must(snowkey.Open(t.Context(), filestore.Dir(t.TempDir()), snowkey.Config{Layout: idgen.JSSafe(), MaxClockSkew: 10 * time.Millisecond}))(t)
	defer ids.Close(t.Context())
	server := httptest.NewServer(dbtest.Must(service.NewHandler(ids, service.Config{}))(t))
	defer server.Close()
	c := dbtest.Must(client.New([]string{server.URL}, client.Config{}))(t)
	defer c.Close()
	got, err := c.Append(t.Context(), nil, 10_000)
	if err != nil || len(got) != 10_000 || !slices.IsSorted(got) || len(slices.Compact(got)) != 10_000 {
		t.Errorf("got %d ids, %v", len(got), err)
	}
}
