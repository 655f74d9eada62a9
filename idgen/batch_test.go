package idgen_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

func TestAppendPastTheEndTakesNoNumber(t *testing.T) {
	layout := idgen.DefaultLayout()
	clock := holdClock(layout.Lifetime().End.Add(-time.Millisecond))
	pool := newPool(t, idgen.Config{Clock: clock.Now, NoSpread: true})
	if _, err := pool.NextN(t.Context(), 4097); !errors.Is(err, idgen.ErrLayoutExhausted) {
		t.Fatal(err)
	}
	if got := len(errtest.Must(pool.NextN(t.Context(), 4095))(t)); got != 4095 {
		t.Errorf("%d ids", got)
	}
}

func TestAppendReturnsConsecutiveIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now})
		ctx := t.Context()
		layout := pool.Layout()
		for _, n := range []int{0, 1, 2, 4095, 4096, 4097, 100_000} {
			prefix := []int64{-7}
			ids := errtest.Must(pool.Append(ctx, prefix, n))(t)
			if len(ids) != n+1 || ids[0] != -7 {
				t.Fatalf("%d ids behind the prefix %d", len(ids)-1, ids[0])
			}
			ascending(t, ids)
			next := errtest.Must(pool.NextN(ctx, n))(t)
			if len(next) != n {
				t.Fatalf("NextN(%d) returned %d", n, len(next))
			}
			// Within a call there are no gaps, so each id follows the previous one in
			// sequence or tick.
			for i := 2; i <= n; i++ {
				a, b := layout.Decode(ids[i-1]), layout.Decode(ids[i])
				if gap := b.Time.Sub(a.Time).Milliseconds()*4096 + b.Sequence - a.Sequence; gap != 1 {
					t.Fatalf("%+v follows %+v", b, a)
				}
			}
			if n > 0 && n <= 4096 && !layout.Decode(next[0]).Time.Equal(layout.Decode(ids[1]).Time) {
				time.Sleep(20 * time.Millisecond)
				one := errtest.Must(pool.NextN(ctx, n))(t)
				if a, b := layout.Decode(one[0]), layout.Decode(one[n-1]); !a.Time.Equal(b.Time) {
					t.Errorf("%d ids of an idle tick end in the next", n)
				}
			}
			time.Sleep(time.Second)
		}
	})
}

func TestCountOutOfRange(t *testing.T) {
	layout := errtest.Must(idgen.NewLayout(epoch, time.Second, idgen.Time(32), idgen.Worker(10), idgen.Sequence(8)))(t)
	pool := newPool(t, idgen.Config{Layout: layout})
	wide := newPool(t, idgen.Config{MaxAhead: idgen.NoLimit})
	for _, tt := range []struct {
		pool *idgen.Pool
		n    int
		most int64
	}{{pool, -1, 512}, {pool, 513, 512}, {wide, 1<<24 + 1, 1 << 24}, {wide, math.MaxInt, 1 << 24}} {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			dst := []int64{1, 2}
			got, err := tt.pool.Append(t.Context(), dst, tt.n)
			ce, ok := errors.AsType[*idgen.CountError](err)
			if !ok || *ce != (idgen.CountError{Count: int64(tt.n), Max: tt.most}) || len(got) != 2 {
				t.Errorf("Append of %d: %v, %v", tt.n, got, err)
			}
			if got, err := tt.pool.NextN(t.Context(), tt.n); err == nil || got != nil {
				t.Errorf("NextN(%d): %v, %v", tt.n, got, err)
			}
		})
	}
	if got := len(errtest.Must(pool.NextN(t.Context(), 512))(t)); got != 512 {
		t.Errorf("%d ids of the 512 allowed", got)
	}
}
