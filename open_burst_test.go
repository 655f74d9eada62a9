package snowkey_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// With JSSafe, a call for 1,000 ids needs the numbers of 160 ms. If the mean
// rate is below the layout's, such calls should not have to wait.
func TestBurstsOfANarrowLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leasetest.Memory{}
		narrow, err := idgen.JSSafe().WithEpoch(time.Now().Add(-time.Hour)) // synctest begins in 2000
		if err != nil {
			t.Fatal(err)
		}
		open := func() *idgen.Pool { return openLayout(t, store, narrow, snowkey.Config{}) }
		open().Close(t.Context()) // create the namespace now, since its first ids may be ahead
		time.Sleep(time.Minute)
		pool := open()
		last := int64(0)
		draw := func(n int) error {
			ids, err := pool.NextN(t.Context(), n)
			for _, id := range ids {
				if id <= last {
					t.Fatalf("id %d after %d", id, last)
				}
				last = id
			}
			return err
		}
		for range 300 { // 5,000 ids a second for a minute
			began := time.Now()
			if err := draw(1000); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d > 0 {
				t.Errorf("a call for 1,000 ids waited %v", d)
			}
			if h := pool.Health(); h.State != idgen.Serving || h.Behind < 140*time.Millisecond || h.Behind > time.Second {
				t.Errorf("after 1,000 ids: %+v", h)
			}
			time.Sleep(200 * time.Millisecond)
		}

		// 12,800 ids a second are too many for the layout. The lead grows up to
		// MaxAhead, and from then on calls wait.
		waited := time.Duration(0)
		for range 100 {
			began := time.Now()
			if err := draw(1280); err != nil {
				t.Fatal(err)
			}
			waited += time.Since(began)
			if lead := pool.Stats().Lead; lead > time.Second {
				t.Errorf("ids are %v ahead", lead)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if waited < 5*time.Second {
			t.Errorf("calls for 12,800 ids a second waited for only %v", waited)
		}
	})
}
