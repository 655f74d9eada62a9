//go:build nightly && unix

package chaos

import (
	"context"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
)

// Pgpool-II sends writes to a primary, and all reads that it can to a standby, which is a
// second behind.
func TestNightlyPgpool(t *testing.T) {
	s := readSettings(t, 40*time.Second, 8)
	primary, process := dbtest.Killable(t, "postgres")
	standby := dbtest.StandbyOf(t, primary, "recovery_min_apply_delay = '1s'")
	db := cluster.Pgpool(t, primary, standby, "read_only_function_list = '.*'", "disable_load_balance_on_write = 'off'",
		"statement_level_load_balance = on", "backend_flag0 = 'DISALLOW_TO_FAILOVER'", "backend_flag1 = 'DISALLOW_TO_FAILOVER'")
	pool := server{
		text: db.DSN, addresses: []string{regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(db.DSN)},
		kill: process.Kill, start: process.Start,
		dump: func(ctx context.Context, w io.Writer) error { return writeTables(ctx, w, primary) },
	}
	n := &clusterNemesis{nemesis: newNemesis(t, postgres, pool, s)}
	n.run([]fault{
		{"primary killed -9 and started again", n.killServer},
		{"network cut for longer than the bound", n.cut},
	})
}
