package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/internal/protocol"
)

var (
	// ErrClosed is returned once a pool has been closed.
	ErrClosed = errors.New("lease: the lease was closed")

	// ErrNoNamespace is returned by snowkey.Fence and snowkey.Doctor if the store doesn't
	// have a namespace with that name and layout.
	ErrNoNamespace = errors.New("the store has no such namespace; check the namespace, the layout, the database and the table")

	// ErrNotMigrated is returned by stores whose tables or files don't exist yet. Keepers
	// respond by calling Migrate, unless snowkey.Config.SkipMigrate is set.
	ErrNotMigrated = errors.New("lease: the tables or files that keep the leases are missing; run the migration, or open without SkipMigrate")

	// ErrSuspended is the reason given while a suspended pool can't issue ids. Call
	// Resume to get it going again.
	ErrSuspended = errors.New("lease: the worker number was released by Suspend; call Resume")
)

// A LostError reports a lost lease. The pool goes on to lease another worker number.
type LostError struct {
	Namespace string
	Worker    int64
	Since     time.Time // when this process noticed, by the host's clock
	Reason    string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("lease: lost worker %d of namespace %q at %s: %s; leasing another",
		e.Worker, e.Namespace, e.Since.UTC().Format(time.RFC3339), e.Reason)
}

// A StoreError reports that the store didn't answer, or answered with an error.
type StoreError struct {
	Op  string // "probe", "claim", "renew", …
	Err error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("lease: the store failed to %s: %v", e.Op, e.Err)
}

// Unwrap returns Err.
func (e *StoreError) Unwrap() error { return e.Err }

// A PermanentError is a store error that retrying won't fix, like a wrong password or a
// missing privilege. snowkey.Open returns it right away. A pool that's already running
// will keep trying, since somebody might fix the cause in the meantime.
type PermanentError struct {
	Err    error
	Remedy string
}

func (e *PermanentError) Error() string { return fmt.Sprintf("%v; %s", e.Err, e.Remedy) }

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error { return e.Err }

// A BlockedError reports that this process itself is keeping the store from answering,
// usually because every connection in its *sql.DB is used by a transaction waiting for
// ids. Calls fail with it after snowkey.Config.MaxBlocked, even if there's time left on
// their context.
type BlockedError = leased.BlockedError

// A VersionError reports that a table or file has a different protocol version. This
// program won't write to it.
type VersionError = protocol.VersionError

// A TakenError reports that every worker number in the range is leased.
type TakenError struct {
	Namespace string
	Min, Max  int64
	Holders   []string      // the different labels of the holders, without ""
	NextFree  time.Duration // how long until the next lease expires, unless it is renewed
	Stale     int64         // how many of the holders no longer renew
}

func (e *TakenError) Error() string {
	const most = 5
	who := e.Holders
	more := ""
	if len(who) > most {
		more = fmt.Sprintf(" and %d more", len(who)-most)
		who = who[:most]
	}
	n, advice := e.Max-e.Min+1, "stop idle processes, widen the range or the layout's worker field"
	if 2*e.Stale > n {
		advice = fmt.Sprintf("%d of their holders stopped renewing: processes are killed faster than leases expire; call Close before a process ends, or set TTL lower; %s", e.Stale, advice)
	}
	return fmt.Sprintf("lease: all %d worker numbers of namespace %q (%d to %d) are in use, by %s%s; the next expires in %v unless it is renewed; %s",
		n, e.Namespace, e.Min, e.Max, strings.Join(who, ", "), more, e.NextFree, advice)
}

// A LayoutError reports that the namespace already has a different layout which could
// generate the same ids.
type LayoutError struct {
	Namespace    string
	Stored, Mine string
	Err          error // which ids would be equal, and what to do
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("lease: namespace %q has ids of the layout %q, and this process has the layout %q: %v; or use the same layout",
		e.Namespace, e.Stored, e.Mine, e.Err)
}

// Unwrap returns Err.
func (e *LayoutError) Unwrap() error { return e.Err }

// A HoldOffError reports that a lease can't grant ids just yet. It happens when the
// namespace is new or the database has been replaced, since ids below the start of the
// lease may have been issued under leases the store doesn't know about.
type HoldOffError struct {
	Namespace string
	For       time.Duration // about how long it takes

	// Unconfirmed is set if the store's reply to the claim was lost. All the keeper has
	// then is a read showing that it holds the lease, so it needs a reply to a renewal
	// before it can issue ids.
	Unconfirmed bool
}

func (e *HoldOffError) Error() string {
	if e.Unconfirmed {
		return fmt.Sprintf("lease: namespace %q issues no ids yet: the answer to the claim was lost, and the store has not yet answered the renewal that confirms it", e.Namespace)
	}
	return fmt.Sprintf("lease: namespace %q must wait %v before issuing ids: a previous database may have granted later ones; wait, or set Config.MaxClockSkew lower if your clocks allow it",
		e.Namespace, e.For)
}

// A ClockSkewError reports that the clocks of the host and the store are too far apart.
type ClockSkewError struct {
	Host, Store time.Time
	Max         time.Duration
}

func (e *ClockSkewError) Error() string {
	return fmt.Sprintf("lease: this host's clock shows %s and the store's clock %s; they differ by more than MaxClockSkew, %v; correct one of them",
		e.Host.UTC().Format(time.RFC3339Nano), e.Store.UTC().Format(time.RFC3339Nano), e.Max)
}
