package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrClosed is returned for a [Keeper] that has been closed.
var ErrClosed = errors.New("lease: the keeper is closed")

// A LostError says that a lease was lost. The keeper claims another by itself.
type LostError struct {
	Namespace string
	Worker    int64
	Since     time.Time // when the keeper learned of it, by the host's clock
	Reason    string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("lease: lost worker %d of namespace %q at %s: %s; leasing another",
		e.Worker, e.Namespace, e.Since.UTC().Format(time.RFC3339), e.Reason)
}

// A StoreError says that the store does not answer, or not as it should.
type StoreError struct {
	Op  string // "probe", "claim", "renew", …
	Err error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("lease: the store failed to %s: %v; trying again", e.Op, e.Err)
}

// Unwrap returns Err.
func (e *StoreError) Unwrap() error { return e.Err }

// A TakenError says that all worker numbers of the range are leased.
type TakenError struct {
	Namespace string
	Min, Max  int64
	Holders   []string      // their labels, each once; "" is left out
	NextFree  time.Duration // when the next lease expires, unless it is renewed
}

func (e *TakenError) Error() string {
	const most = 5
	who := e.Holders
	more := ""
	if len(who) > most {
		more = fmt.Sprintf(" and %d more", len(who)-most)
		who = who[:most]
	}
	return fmt.Sprintf("lease: all %d workers of namespace %q (%d to %d) are leased, by %s%s; the next expires in %v unless it is renewed: stop idle processes, widen the range or the layout's worker field",
		e.Max-e.Min+1, e.Namespace, e.Min, e.Max, strings.Join(who, ", "), more, e.NextFree)
}

// A LayoutError says that the namespace's numbers are of another layout.
type LayoutError struct {
	Namespace    string
	Stored, Mine string
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("lease: namespace %q makes numbers of the layout %q, this process of %q, and the two can be equal; use the same layout, or another namespace for another table",
		e.Namespace, e.Stored, e.Mine)
}

// A ClockSkewError says that the host's clock and the store's are too far apart.
type ClockSkewError struct {
	Host, Store time.Time
	Max         time.Duration
}

func (e *ClockSkewError) Error() string {
	return fmt.Sprintf("lease: this host's clock shows %s, the store's %s, more than MaxClockSkew %v apart; set one of them right",
		e.Host.UTC().Format(time.RFC3339Nano), e.Store.UTC().Format(time.RFC3339Nano), e.Max)
}

// A ConfigError is returned by [Open] for a [Config] that cannot be.
type ConfigError struct {
	Field  string
	Reason string // what is wrong and what to do
}

func (e *ConfigError) Error() string { return "lease: Config." + e.Field + " " + e.Reason }
