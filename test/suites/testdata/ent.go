// Package snowkey gets added to ent's integration suite.
package snowkey

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	"entgo.io/ent"
	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

// Hooks returns the hook of entid and one that records that it was called, provided
// that hooks are enabled.
func Hooks() []ent.Hook {
	if os.Getenv("SNOWKEY_HOOKS") != "on" {
		return nil
	}
	return []ent.Hook{entid.Hook(pool()), called}
}

var pool = sync.OnceValue(func() *idgen.Pool {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		panic(err)
	}
	return pool
})

// called writes to a file, so that the suite can tell that a hook was called.
func called(next ent.Mutator) ent.Mutator {
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		if f, err := os.OpenFile(os.Getenv("SNOWKEY_CALLED"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, m.Type())
			f.Close()
		}
		return next.Mutate(ctx, m)
	})
}

// Port returns the port of the server. Its user root has no password.
func Port() string { return os.Getenv("SNOWKEY_PORT") }

// Ports returns one version, the newest that the suite knows, and its port.
func Ports() map[string]int {
	port, err := strconv.Atoi(Port())
	if err != nil {
		panic(err)
	}
	return map[string]int{"8": port}
}
