//go:build linux

package filestore

import (
	"context"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
)

func init() { roles["brief"] = live }

// live leases with Share, draws ids for up to 200 ms, and ends, with or without Close.
func live(s *Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pool, err := snowkey.Open(ctx, Share(s.path, Dir(s.path+"-store")), snowkey.Config{MaxWorker: 63})
	if err != nil {
		return err
	}
	for end := time.Now().Add(mathrand.N(200 * time.Millisecond)); ; time.Sleep(mathrand.N(20 * time.Millisecond)) {
		ids, err := pool.Append(ctx, nil, 1+mathrand.IntN(3000))
		if err != nil {
			return err
		}
		worker, _ := pool.Worker()
		report(worker, ids[0], ids[len(ids)-1], int64(len(ids)))
		if time.Now().After(end) {
			break
		}
	}
	if mathrand.IntN(2) == 0 {
		return nil
	}
	return pool.Close(ctx)
}

// TestShareKill starts processes that share leases, 24 at a time, and kills half of them
// at random moments. No id may repeat, and each process that was not killed must have had
// an id. Set SNOWKEY_SEED to choose the moments, and SNOWKEY_PROCESSES for more of them.
func TestShareKill(t *testing.T) {
	t.Parallel()
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	seed, n := number("SNOWKEY_SEED", mathrand.IntN(1000)), number("SNOWKEY_PROCESSES", 60)
	t.Log("SNOWKEY_SEED =", seed)
	random := mathrand.New(mathrand.NewPCG(uint64(seed), 0))
	dir := filepath.Join(memoryDir(t), "shared")
	var check spans
	var wg sync.WaitGroup
	slots := make(chan bool, 24)
	killed := 0
	for range n {
		slots <- true
		after := time.Duration(0)
		if random.IntN(2) == 0 {
			after = time.Duration(random.Int64N(int64(250 * time.Millisecond)))
			killed++
		}
		p := start(t, "brief", dir)
		wg.Go(func() {
			if after > 0 {
				time.AfterFunc(after, func() { p.cmd.Process.Kill() })
			}
			spans := 0
			p.hear(t, &check, func() { spans++ })
			if spans == 0 && after == 0 {
				t.Errorf("%s drew no id", p.name)
			}
			<-slots
		})
	}
	wg.Wait()
	disjoint(t, &check)
	workers := make(map[int64]bool)
	for _, s := range check.all {
		workers[s.worker] = true
	}
	t.Logf("%d processes, %d killed, %d worker numbers", n, killed, len(workers))
}
