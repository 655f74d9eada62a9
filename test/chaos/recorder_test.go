//go:build unix

package chaos

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// issuer is an issuer that has used all counters below unused.
type issuer struct{ unused int64 }

func (i *issuer) Grant(_, _, _ int64)     {}
func (i *issuer) Extend(int64)            {}
func (i *issuer) Seal(error) int64        { return i.unused }
func (i *issuer) Explain(error)           {}
func (i *issuer) Correct(d time.Duration) {}

// A worker must report ids that aren't allowed by any of the grants.
func TestWorkerComparesIDsWithGrants(t *testing.T) {
	for name, tt := range map[string]struct {
		worker int64
		runs   [][2]int64 // from one call each
		want   string     // part of the line that reports a violation
	}{
		"allowed":                   {1, [][2]int64{{100, 120}, {121, 121}, {150, 199}, {300, 300}}, ""},
		"of another worker number":  {2, [][2]int64{{100, 100}}, "outside of every grant"},
		"below the start":           {1, [][2]int64{{99, 100}}, "outside of every grant"},
		"at the bound":              {1, [][2]int64{{199, 200}}, "outside of every grant"},
		"unused when it was sealed": {1, [][2]int64{{301, 301}}, "outside of every grant"},
		"the same again":            {1, [][2]int64{{100, 100}, {100, 100}}, "under grant 1"},
		"descending":                {1, [][2]int64{{110, 111}, {102, 103}}, "under grant 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := newWorker(idgen.DefaultLayout(), &out)
			inner := &issuer{unused: 200}
			w.lease.Issuer = inner
			w.lease.Extend(1000) // has no effect without a grant
			w.lease.Grant(1, 100, 150)
			w.lease.Extend(200)
			w.lease.Seal(errors.New("for a test"))
			w.lease.Extend(1000) // has no effect after Seal
			w.lease.Grant(1, 300, 400)
			inner.unused = 301
			w.lease.Seal(errors.New("for a test"))
			for _, run := range tt.runs {
				var ids []int64
				for c := run[0]; c <= run[1]; c++ {
					ids = append(ids, w.numbers.id(tt.worker, c))
				}
				w.record(ids, 0, time.Now())
			}
			w.flush()
			_, bad, found := strings.Cut(out.String(), "\n"+lineBad+" ")
			if bad, _, _ = strings.Cut(bad, "\n"); found != (tt.want != "") || !strings.Contains(bad, tt.want) {
				t.Errorf("%s: reported %q, want %q", name, bad, tt.want)
			}
		})
	}
}
