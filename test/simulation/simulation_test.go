package simulation

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// measured has the times that docs/many-processes.md explains.
var measured = Config{
	Seed: 1, Cores: 16, Statement: 400 * time.Microsecond, Connect: 2500 * time.Microsecond,
	Latency: [3]time.Duration{time.Millisecond, 30 * time.Millisecond, 80 * time.Millisecond},
}

// fleet returns the configuration of the small fleet that CI simulates.
func fleet() Config {
	cfg := measured
	cfg.Processes, cfg.Bits, cfg.Window, cfg.Cores = 1500, 11, 30*time.Second, 1
	return cfg
}

func TestSimulation(t *testing.T) {
	r := Run(fleet())
	t.Log("\n" + r.Markdown())
	if r.Duplicates > 0 {
		t.Errorf("%d leases granted ids of other leases", r.Duplicates)
	}
	if r.Leases < 2*fleet().Processes {
		t.Errorf("there were only %d leases", r.Leases)
	}
	for _, p := range r.Phases {
		if p.Waiting > 0 {
			t.Errorf("%s: %d processes have no id", p.Name, p.Waiting)
		}
	}
	if again := Run(fleet()); again.Markdown() != r.Markdown() {
		t.Errorf("the same seed gave another table:\n%s", again.Markdown())
	}
}

func TestBrokenSimulation(t *testing.T) {
	for _, broken := range []string{"start", "fence"} {
		cfg := fleet()
		cfg.Broken = broken
		if r := Run(cfg); r.Duplicates == 0 {
			t.Errorf("without the rule %q there were no duplicates", broken)
		} else {
			t.Logf("without the rule %q: %d duplicates", broken, r.Duplicates)
		}
	}
}

// TestKeepers runs real keepers in a bubble, and checks that the simulated ones send as
// many statements and need as long for the first id.
func TestKeepers(t *testing.T) {
	cfg := fleet()
	cfg.Processes, cfg.Latency = 90, [3]time.Duration{20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond}
	cfg.Statement, cfg.Connect = 0, 0
	simulated := Run(cfg).Phases[1]

	var first, longest time.Duration
	var renewals int
	synctest.Test(t, func(t *testing.T) {
		store := new(leasetest.Memory)
		store.Fault(func(op string) leasetest.Fault {
			trips := map[string]time.Duration{"Claim": 2, "Renew": 2, "Release": 2}[op]
			time.Sleep(max(trips, 1) * cfg.Latency[0])
			return leasetest.None
		})
		open := func() (leased.Keeper, time.Duration) {
			began := time.Now()
			time.Sleep(3 * cfg.Latency[0]) // to connect
			k, err := keeper.Open(t.Context(), store, issuer{}, keeper.Config{
				Layout: "simulated", Epoch: epoch, Unit: time.Millisecond, PerTick: 16, Workers: 1 << cfg.Bits,
				Window: cfg.Window, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Error(err)
			}
			return k, time.Since(began)
		}
		old, _ := open() // adds the namespace
		time.Sleep(time.Minute)
		keepers := []leased.Keeper{old}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range cfg.Processes {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second / 2)
				k, took := open()
				mu.Lock()
				defer mu.Unlock()
				keepers = append(keepers, k)
				first, longest = first+took/time.Duration(cfg.Processes), max(longest, took)
			})
		}
		wg.Wait()
		before := store.Calls("Renew")
		time.Sleep(10 * time.Minute)
		renewals = store.Calls("Renew") - before
		for _, k := range keepers {
			k.Close(context.Background())
		}
	})
	// Each process of the simulated deploy sends two statements for each renewal, one to
	// probe, two to claim and two to release.
	restarts := float64(5*cfg.Processes) / (lossAt - deployAt).Seconds()
	real := restarts + 2*float64(renewals)/600*float64(cfg.Processes)/float64(cfg.Processes+1)
	t.Logf("statements a second: %d simulated, %.1f real; first id: %v simulated, %v real (longest %v)",
		simulated.Mean, real, simulated.Starts[len(simulated.Starts)/2], first, longest)
	if ratio := (float64(simulated.Mean) + 0.5) / real; ratio < 0.9 || ratio > 1.1 {
		t.Errorf("the simulated processes send %.2f times as many statements as real ones", ratio)
	}
	if ratio := float64(simulated.Starts[len(simulated.Starts)/2]) / float64(first); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("the simulated processes need %.2f times as long for the first id as real ones", ratio)
	}
}

// An issuer accepts everything that a keeper tells it.
type issuer struct{}

func (issuer) Grant(_, _, _ int64)   {}
func (issuer) Extend(int64)          {}
func (issuer) Seal(error) int64      { return 0 }
func (issuer) Explain(error)         {}
func (issuer) Correct(time.Duration) {}
