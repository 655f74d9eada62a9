package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestRun measures everything as briefly as possible.
func TestRun(t *testing.T) {
	idgen.SetDefault(full)
	var out bytes.Buffer
	dbtest.NoError(t, run(t, &out, 1, time.Millisecond, 8))
	t.Log(out.String())
	servers := 0
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" {
			servers++
		}
	}
	for _, want := range []string{
		"\n| Snowkey | ", "\n| GORM, 1,000 rows | ", "one row, 16 connections | ", "\n| rows exist | 0 | ", "\n| a new namespace | 0 | ",
	} {
		if n := strings.Count(out.String(), want); n != servers {
			t.Errorf("%q is there %d times, want %d", want, n, servers)
		}
	}
}
