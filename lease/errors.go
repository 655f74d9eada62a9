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
	// ErrClosed is returned after a pool was closed.
	ErrClosed = errors.New("lease: the lease was closed")

	// ErrNoNamespace is returned by snowkey.Fence and snowkey.Doctor if the store has no
	// namespace of that name with that layout.
	ErrNoNamespace = errors.New("the store has no such namespace; check the namespace, the layout, the database and the table")

	// ErrNotMigrated is returned by stores whose tables or files are missing. When a
	// keeper gets this error, it calls Migrate, unless snowkey.Config.SkipMigrate is
	// set.
	ErrNotMigrated = errors.New("lease: the tables or files that keep the leases are missing; run the migration, or open without SkipMigrate")

	// ErrSuspended is the reason that is reported while a pool can't issue ids because
	// it was suspended and not yet resumed.
	ErrSuspended = errors.New("lease: the worker number was released by Suspend; call Resume")
)

// A LostError reports that a lease was lost. The pool then leases another worker
// number.
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

// A StoreError reports that the store did not answer, or answered with an error.
type StoreError struct {
	Op  string // "probe", "claim", "renew", …
	Err error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("lease: the store failed to %s: %v", e.Op, e.Err)
}

// Unwrap returns Err.
func (e *StoreError) Unwrap() error { return e.Err }

// A PermanentError is an error of the store that a retry can't fix, such as a wrong
// password or a missing privilege. snowkey.Open returns it immediately. A running pool
// keeps trying anyway, since an operator may fix the cause in the meantime.
type PermanentError struct {
	Err    error
	Remedy string
}

func (e *PermanentError) Error() string { return fmt.Sprintf("%v; %s", e.Err, e.Remedy) }

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error { return e.Err }

// A BlockedError reports that this process itself keeps the store from answering, usually
// because all connections of its *sql.DB are used by transactions that wait for ids. After
// snowkey.Config.MaxBlocked, calls fail with it, even if their context has not ended.
type BlockedError = leased.BlockedError

// A VersionError reports that a table or file has another protocol version. This
// program does not write to it.
type VersionError = protocol.VersionError

// A TakenError reports that all worker numbers of the range are leased.
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

// A LayoutError reports that the namespace already has another layout which can make
// the same ids as this one.
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

// A HoldOffError reports that a lease can't grant ids yet. Because the namespace is new
// or the database was replaced by another, ids below the lease's start may have been
// issued under leases that the store does not know about.
type HoldOffError struct {
	Namespace string
	For       time.Duration // about how long it takes

	// Unconfirmed is set if the store's reply to the claim was lost. In that case the
	// keeper knows only from a read that it holds the lease, so it has to wait for the
	// reply to a renewal before it can issue ids.
	Unconfirmed bool
}

func (e *HoldOffError) Error() string {
	if e.Unconfirmed {
		return fmt.Sprintf("lease: namespace %q issues no ids yet: the answer to the claim was lost, and the store has not yet answered the renewal that confirms it", e.Namespace)
	}
	return fmt.Sprintf("lease: namespace %q must wait %v before issuing ids: a previous database may have granted later ones; wait, or set Config.MaxClockSkew lower if your clocks allow it",
		e.Namespace, e.For)
}

// A ClockSkewError reports that the host's clock and the store's clock differ too much.
type ClockSkewError struct {
	Host, Store time.Time
	Max         time.Duration
}

func (e *ClockSkewError) Error() string {
	return fmt.Sprintf("lease: this host's clock shows %s and the store's clock %s; they differ by more than MaxClockSkew, %v; correct one of them",
		e.Host.UTC().Format(time.RFC3339Nano), e.Store.UTC().Format(time.RFC3339Nano), e.Max)
}
