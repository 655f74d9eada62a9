package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// TestBlockedCallFails has a call whose context doesn't end. It waits for the store as long
// as that doesn't answer, but not for longer than Limit if the process itself is the cause.
func TestBlockedCallFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, issuer := leasedPool(t, idgen.Config{Clock: func() time.Time { return time.Now().AddDate(30, 0, 0) }})
		failed := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := pool.Next(context.Background())
			failed <- err
		}()
		for cause, reason := range map[string]error{"": nil, "no_answer": fmt.Errorf("it: %w", context.DeadlineExceeded), "blocked": &leased.BlockedError{Limit: time.Hour}, "other": errors.New("refused")} {
			issuer.Explain(reason)
			if h := pool.Health(); h.Cause != cause || h.Reason != reason {
				t.Errorf("the cause of %v is %q and %v, want %q", reason, h.Cause, h.Reason, cause)
			}
		}
		issuer.Explain(errors.New("refused"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(failed) > 0 {
			t.Fatal("the call did not wait:", <-failed)
		}
		for range 3 { // each attempt of the keeper explains it again
			issuer.Explain(&leased.BlockedError{Cause: "all are in use", Remedy: "wait", Limit: 61 * time.Second})
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(failed) == 0 {
			t.Fatal("the call waits for ever")
		}
		err := <-failed
		if _, ok := errors.AsType[*leased.BlockedError](err); !ok {
			t.Error(err)
		}
		if took := time.Since(began); took < 61*time.Second || took > 63*time.Second {
			t.Errorf("the call took %v", took)
		}
	})
}
