package client_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/service/client"
)

// limited allows few ids in a request, like a service whose layout has few ids per tick.
type limited struct {
	replies
	max int64

	mu     sync.Mutex
	counts []int64
}

func (s *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n int64
	_, _ = fmt.Sscan(r.URL.Query().Get("count"), &n)
	s.mu.Lock()
	s.counts = append(s.counts, n)
	s.mu.Unlock()
	if n > s.max {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, fmt.Sprintf(`{"error":{"code":"invalid_count","message":"count is too large","max":%d}}`, s.max))
		return
	}
	s.replies.ServeHTTP(w, r)
}

// If a replica allows fewer ids than the client asks for, the client asks it again for as
// many as it allows, and remembers that.
func TestLimitOfAReplica(t *testing.T) {
	s := &limited{max: 3}
	c := newClient(t, client.Config{Batch: 4}, serve(t, s))
	ids, err := c.Append(t.Context(), nil, 11)
	if err != nil || len(ids) != 11 || len(slices.Compact(ids)) != 11 {
		t.Errorf("got %d, %v", ids, err)
	}
	if want := []int64{11, 3, 3, 3, 2}; !slices.Equal(s.counts, want) {
		t.Errorf("it asked for %d ids, want %d", s.counts, want)
	}
}

// Ids ascend from call to call, whether a call needs one id, some that were fetched ahead,
// or more than that.
func TestIDsAscend(t *testing.T) {
	c := newClient(t, client.Config{Batch: 20}, serve(t, &replies{}))
	last := int64(0)
	for i := range 500 {
		ids, err := c.Append(t.Context(), nil, 1+i*7%45)
		if i%3 == 0 && err == nil {
			ids = make([]int64, 1)
			ids[0], err = c.Next(t.Context())
		}
		errtest.NoError(t, err)
		for _, id := range ids {
			if id <= last {
				t.Fatalf("call %d: %d comes after %d", i, id, last)
			}
			last = id
		}
	}
}
