//go:build unix

package idgen_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// A process is stopped for two seconds and then continues. No id may repeat. At a high
// rate, each goroutine can get late ids, but only from the rest of its block and from a
// block that it was just taking. At a low rate, even the first id after the pause
// should have the right time.
func TestUnorderedAfterAPause(t *testing.T) {
	for _, pace := range []string{"rush", "slow"} {
		t.Run(pace, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(must(os.Executable())(t), "-test.run=^TestUnorderedIsPaused$", "-test.v")
			cmd.Env = append(os.Environ(), "SNOWKEY_PAUSED="+pace)
			cmd.Stderr = os.Stderr
			in, out := must(cmd.StdinPipe())(t), bufio.NewReader(must(cmd.StdoutPipe())(t))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill() })
			for line := ""; line != "drawing\n"; {
				var err error
				if line, err = out.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if s == syscall.SIGSTOP {
					time.Sleep(2 * time.Second)
				}
			}
			in.Close()
			rest, _ := io.ReadAll(out)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v:\n%s", err, rest)
			}
			t.Logf("%s", rest)
		})
	}
}

// A pauseRecord holds the ids of a goroutine from before and after the pause.
type pauseRecord struct {
	before [1 << 14]int64 // a ring of the latest ids
	after  []int64
	stale  int // how many ids in after are late
}

const longPause = 500 * time.Millisecond

// TestUnorderedIsPaused is the process that TestUnorderedAfterAPause starts and stops.
func TestUnorderedIsPaused(t *testing.T) {
	pace := os.Getenv("SNOWKEY_PAUSED")
	if pace == "" {
		return
	}
	const goroutines, enough, block = 4, 1 << 14, 1024
	pool := newPool(t, idgen.Config{Layout: roomy(t)})
	u, layout := pool.Unordered(), pool.Layout()
	var records [goroutines]pauseRecord
	var resumed atomic.Bool
	var ready, all sync.WaitGroup
	ready.Add(goroutines)
	for i := range records {
		all.Go(func() {
			r := &records[i]
			last := time.Now()
			for n := 0; !resumed.Load() || r.after == nil || len(r.after) < enough && pace == "rush"; n++ {
				if pace == "slow" {
					time.Sleep(100 * time.Microsecond)
				}
				now := time.Now()
				id, err := u.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if r.after != nil || now.Sub(last) > longPause {
					if len(r.after) < enough {
						r.after = append(r.after, id)
						if now.Sub(layout.Decode(id).Time) > longPause {
							r.stale++
						}
					}
				} else {
					r.before[n%len(r.before)] = id
				}
				last = now
				if n == 1000 {
					ready.Done()
				}
			}
		})
	}
	ready.Wait()
	fmt.Println("drawing")
	io.Copy(io.Discard, os.Stdin)
	resumed.Store(true)
	all.Wait()

	most := map[string]int{"rush": 2 * block}[pace]
	seen := map[int64]bool{}
	stale := 0
	for i := range records {
		r := &records[i]
		for _, id := range append(r.before[:], r.after...) {
			if id != 0 && seen[id] {
				t.Errorf("id %d twice", id)
			}
			seen[id] = true
		}
		stale += r.stale
	}
	if stale > most*goroutines {
		t.Errorf("%d ids were of the time before the pause; at most %d may be, of %d goroutines each", stale, most, goroutines)
	}
	t.Logf("%d ids were of the time before the pause", stale)
}
