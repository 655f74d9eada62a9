package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// ApplyOptions configures [Apply]. The zero value applies the next phase.
type ApplyOptions struct {
	// Phase is the phase to apply. All phases before it must be complete. Defaults to the
	// first incomplete phase.
	Phase PhaseName

	// BatchSize is about how many rows to backfill (or rekey) at a time. A backfill uses
	// smaller batches if they take longer than 0.1 s, because writers wait for their rows.
	// Defaults to 10,000.
	BatchSize int

	// Pause is how long to wait after each batch of a backfill. Defaults to no pause.
	Pause time.Duration

	// MaxLag is how far a replica can fall behind before a backfill pauses. Only Postgres
	// shows the lag, and only to superusers and members of pg_monitor. Defaults to 10 s.
	MaxLag time.Duration

	// MaxActive is how many other sessions can be running a statement before a backfill
	// pauses. Sessions that the user isn't allowed to see don't count. Defaults to any
	// number.
	MaxActive int

	// LockTimeout is how long a statement waits for a lock. Other sessions queue up
	// behind a waiting statement, so Apply gives up after this time and retries later, up
	// to 19 times. It retries as soon as it sees that the lock might be free. If it can't
	// see that, it pauses between attempts, for minutes towards the end. Defaults to 0.1
	// s, or 5 s on SQLite.
	//
	// MySQL and MariaDB require a second connection for this. If the pool only allows
	// one, the timeout is rounded up to whole seconds. A statement that has been copying
	// rows for a while can wait up to 5 s at the end on these servers, because giving up
	// would mean copying everything again.
	LockTimeout time.Duration

	// IDs generates ids for a plan with RekeyOptions, and is usually an idgen.Backfill's
	// At method. Each Apply needs a worker number that hasn't been used by any other
	// Apply of the plan, so pass a different name to snowkey.OpenBackfill every time.
	IDs func(table string, times []time.Time) ([]int64, error)

	// HoldSwap makes an online Apply wait until [Control] is called with [Continue], right
	// before the first column or table is replaced. If the plan has RekeyOptions, it's also
	// when the application should be stopped.
	HoldSwap bool

	// CancelUndo makes [Undo] revert an earlier Undo that was started but can't be
	// completed. Apply can then continue, and will apply the reversed steps again.
	CancelUndo bool

	// DryRun only reports the steps to Progress, without running them. It won't check
	// whether the plan still fits the database.
	DryRun bool

	// Progress is called at the start and end of each step, and after each batch of a
	// backfill. It runs in the goroutine that called Apply.
	Progress func(Progress)
}

// Progress is the argument to [ApplyOptions.Progress].
type Progress struct {
	Phase PhaseName
	Step  Step
	Event string // one of Began to Would
	// Total is the number of blocks in a backfill, and Done is how many have been filled
	// so far.
	Done, Total int64
	Err         error // why the step is Retried
}

// What happened to a [Step].
const (
	Began   = "began"
	Filled  = "filled" // a batch of a backfill was filled
	Retried = "retried"
	Ended   = "ended"
	Skipped = "skipped" // it had already been applied
	Would   = "would"   // it would be applied if this were not a dry run
)

// Apply runs one phase of a plan and returns it. If they're all complete, it returns a
// phase without a name. Apply keeps its progress in a database table, and after a crash
// at any point it can just be called again to skip the steps that were already applied.
// Only one Apply can run in a database at a time.
//
// Apply plans each phase again before starting it, and returns [ErrPlan] if the result
// differs. This means that the database has changed in the meantime, or that it's a
// different database.
//
// Apply works on its own connection, changing session settings as required by the plan
// and restoring them afterwards. This takes a real session, so on Postgres it should be
// connected directly to the server rather than through a pooler in transaction mode.
//
// If ctx ends during a backfill, the current batch is still completed and recorded. The
// next Apply will continue from there.
//
// The error wraps [ErrPlan], [ErrPhase], [ErrBusy], [ErrUnfinished], or an error from
// [NewPlan] or the driver.
func Apply(ctx context.Context, db *sql.DB, plan *Plan, options ApplyOptions) (phase Phase, err error) {
	err = withApplier(ctx, db, plan, options, func(a *applier) error {
		phase, err = a.apply(ctx)
		return err
	})
	return phase, err
}

// withApplier calls f with an applier that has its own connection.
func withApplier(ctx context.Context, db *sql.DB, plan *Plan, options ApplyOptions, f func(*applier) error) error {
	l, err := plan.open(ctx, db)
	if err != nil {
		return err
	}
	a := &applier{ledger: l, plan: plan, options: options}
	defer a.close(ctx)
	if options.Phase != "" && !slices.ContainsFunc(plan.Phases, func(p Phase) bool { return p.Name == options.Phase }) {
		return fail(ErrPhase, "there is no phase %q; there are %q", string(options.Phase), phaseNames)
	}
	a.options.BatchSize = cmp.Or(max(options.BatchSize, 0), 10_000)
	a.options.MaxLag = cmp.Or(max(options.MaxLag, 0), 10*time.Second)
	a.options.LockTimeout = cmp.Or(max(options.LockTimeout, 0), dialects[a.Dialect].lockTimeout)
	if a.IsMySQL() && db.Stats().MaxOpenConnections != 1 {
		if a.watch, err = db.Conn(ctx); err != nil {
			return fmt.Errorf("autoinc: %w", err)
		}
		defer a.watch.Close()
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	return f(a)
}

// An applier applies or reverses steps on a single connection.
type applier struct {
	ledger
	plan    *Plan
	options ApplyOptions
	phase   PhaseName // the phase that is being applied or reversed
	current []Step    // and those of its steps that belong to the same transaction
	watch   *sql.Conn // on MySQL and MariaDB, a second connection, unless the pool allows only one
	session int64     // on MySQL and MariaDB, the id of conn
	restore func() error
	spoilt  bool // whether the connection must not be used again
}

func (a *applier) apply(ctx context.Context) (Phase, error) {
	entries, err := a.entries(ctx)
	if err != nil {
		return Phase{}, err
	}
	phase, err := a.next(entries)
	if err != nil || phase.Name == "" {
		return phase, err
	}
	a.phase = phase.Name
	if err := a.compare(ctx, phase, entries); err != nil {
		return Phase{}, err
	}
	if err := a.patiently(ctx, func() error { return a.ledger.begin(ctx) }); err != nil {
		return Phase{}, err
	}
	for _, steps := range phase.Transactions() {
		if err := a.take(ctx, steps, entries); err != nil {
			return Phase{}, err
		}
	}
	return phase, a.patiently(ctx, func() error { return a.record(ctx, string(phase.Name), entry{state: done}) })
}

// entries reads the progress. It returns nil if the table doesn't exist. Entries of
// steps that somebody has since reversed by hand are deleted and left out.
func (a *applier) entries(ctx context.Context) (map[string]entry, error) {
	entries, err := a.ledger.own(ctx)
	if err != nil {
		return nil, err
	}
	if _, known := entries[undoing]; known {
		return nil, fail(ErrUnfinished, "the plan is being reversed, and this has stopped in the middle; complete it with snowkey migrate undo, or take it back with snowkey migrate undo --cancel")
	}
	for _, phase := range slices.Backward(a.plan.Phases) {
		if phase.Name == Fence && a.plan.phase(Drop).begun(entries) {
			continue // once the counter is gone, the fence is no longer needed
		}
		for _, steps := range phase.Transactions() {
			held := true
			for _, s := range steps {
				if held && s.Lasting && entries[s.ID].taken() {
					if held, err = a.asked(ctx, s); err != nil {
						return nil, err
					}
				}
			}
			if held {
				continue
			}
			if phase.Name == Widen { // in which later steps depend on earlier ones
				steps = phase.Steps
			}
			gone := append(ids(steps), string(phase.Name))
			for _, id := range gone {
				delete(entries, id)
			}
			if err := a.patiently(ctx, func() error { return a.ledger.forget(ctx, gone...) }); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// next returns the phase to apply.
func (a *applier) next(entries map[string]entry) (Phase, error) {
	for _, phase := range a.plan.Phases {
		complete := entries[string(phase.Name)].state == done
		switch {
		case phase.Name == a.options.Phase || !complete && a.options.Phase == "":
			return phase, nil // if it's complete already, its steps will be skipped
		case !complete:
			return Phase{}, fail(ErrPhase, "the phase %s comes after %s, which is not complete; apply that first", a.options.Phase, phase.Name)
		}
	}
	return Phase{}, nil
}

// compare plans again, and returns an error if the result differs. The first time, it
// compares everything that any phase could run, because the progress is kept under the
// plan's checksum from then on. Later it compares the statements of the phase that begins,
// since earlier phases change what restores the counter. Before Guard, there is nothing
// to plan any more.
func (a *applier) compare(ctx context.Context, phase Phase, entries map[string]entry) error {
	phases, first := []Phase{phase}, len(entries) == 0
	switch {
	case a.options.DryRun:
		return nil
	case first:
		phases = a.plan.Phases
	case phase.begun(entries) || phase.Name == Guard:
		return nil
	}
	options := PlanOptions{Options: catalog.Options{Schemas: a.plan.schemas(), Children: a.plan.children, OnlyDeclared: true}, Tables: a.plan.Tables, Online: a.plan.Online, Default: a.plan.Default, Floor: a.plan.Floor, Composite: true, Rekey: a.plan.rekey}
	fresh := new(Plan) // a plan without keys has no steps, and fits any database
	if len(a.plan.keys) > 0 {
		var err error
		fresh, err = makePlan(ctx, a.conn, options, a.plan)
		if errors.Is(err, ErrTable) || errors.Is(err, catalog.ErrSchema) {
			return fail(ErrPlan, "the plan is of another database, or this one has changed: %v; plan again, on this database", err)
		}
		if err != nil {
			return err
		}
		if fresh.Database != a.plan.Database {
			return fail(ErrPlan, "the plan is of the database %q, and this is %q; plan again, on this database", a.plan.Database, fresh.Database)
		}
	}
	for _, old := range phases {
		now := fresh.phase(old.Name)
		for i := range max(len(now.Steps), len(old.Steps)) {
			for _, whole := range []bool{false, first} {
				if is, was := now.executed(i, whole), old.executed(i, whole); is != was {
					return fail(ErrPlan, "the database is another, or has changed since it was planned: the step %s/%d would be %q now, and was planned as %q; plan again, on this database", old.Name, i+1, is, was)
				}
			}
		}
	}
	return nil
}

// executed returns the SQL of the step at i, or all that is known about it. It's empty if
// there is no such step.
func (p Phase) executed(i int, whole bool) string {
	switch {
	case i >= len(p.Steps):
		return ""
	case !whole:
		return p.Steps[i].SQL
	}
	data, err := json.Marshal(p.Steps[i])
	return cmp.Or(string(data), fmt.Sprint(err))
}

// take applies the steps of one transaction, or a single step outside of one.
func (a *applier) take(ctx context.Context, steps []Step, entries map[string]entry) error {
	first := steps[0]
	// A check that passed before a crash may fail by now, so we repeat it until the
	// phase is complete.
	again := first.Run == Check && first.Unit == 0 && entries[string(a.phase)].state != done && !a.options.DryRun
	if taken := entries[first.ID].taken() && !again; taken || a.options.DryRun { // with its whole transaction
		for _, s := range steps {
			a.tell(s, map[bool]string{true: Skipped, false: Would}[taken])
		}
		return nil
	}
	hold := a.options.HoldSwap && a.online(string(a.phase)) &&
		slices.ContainsFunc(steps, func(s Step) bool { return s.Lasting || a.phase == Rekey && s.Run == Count })
	a.current = steps // which obey reports
	if err := a.obey(ctx, hold); err != nil {
		return failedStep(first, err)
	}
	before := entries[first.ID]
	return a.unit(ctx, steps, func() error {
		if first.Unit == 0 {
			return a.alone(ctx, first, &before)
		}
		return a.together(ctx, steps)
	})
}

// online reports whether a phase fills new columns or tables that replace the old ones at its
// end.
func (a *applier) online(phase string) bool {
	return a.plan.Online && slices.ContainsFunc(a.plan.phase(PhaseName(phase)).Steps, func(s Step) bool { return s.Run == Backfill })
}

// unit calls do with the session settings that the steps need, patiently.
func (a *applier) unit(ctx context.Context, steps []Step, do func() error) error {
	first, last := steps[0], steps[len(steps)-1]
	before := first.Before
	if a.Dialect == catalog.Postgres { // an earlier step may have changed it
		before = append([]string{a.lockTimeout()}, before...)
	}
	a.current = steps
	defer func() { a.current = nil }()
	return a.patiently(ctx, func() (err error) {
		if err := a.set(ctx, first, before...); err != nil {
			return err
		}
		defer func() {
			// If we can't restore the settings, it's better to drop the connection.
			if after := a.set(context.WithoutCancel(ctx), first, last.After...); after != nil {
				a.spoilt = true
				err = errors.Join(err, after)
			}
		}()
		return do()
	})
}

// set executes what a step needs besides its SQL, as far as there is anything.
func (a *applier) set(ctx context.Context, s Step, statements ...string) error {
	for _, statement := range statements {
		if a.spoilt || statement == "" {
			continue
		}
		if _, err := a.conn.ExecContext(ctx, statement); err != nil {
			return failedStep(s, err)
		}
	}
	return nil
}

// together applies steps in a single transaction, which also records them.
func (a *applier) together(ctx context.Context, steps []Step) error {
	err := a.inTransaction(ctx, steps, func() error {
		// Another Apply may have been faster if there is no lock to keep it out, as on
		// SQLite.
		entries, err := a.ledger.read(ctx)
		if err != nil || entries[steps[0].ID].taken() {
			return err
		}
		for _, s := range steps {
			a.tell(s, Began)
			if err := a.run(ctx, s, entry{}); err != nil {
				return err
			}
			if err := a.at(ctx, "record "+s.ID); err != nil {
				return err
			}
		}
		return a.at(ctx, "commit "+steps[0].ID)
	})
	if err != nil {
		return err
	}
	for _, s := range steps {
		a.tell(s, Ended)
	}
	return a.at(ctx, "after "+steps[0].ID)
}

// inTransaction calls do in a transaction, and commits it if do returns nil.
func (a *applier) inTransaction(ctx context.Context, steps []Step, do func() error) error {
	if _, err := a.conn.ExecContext(ctx, a.query("begin")); err != nil {
		// SQLite drivers report the end of ctx even if the transaction has begun.
		a.spoilt = a.spoilt || ctx.Err() != nil
		return failedStep(steps[0], err)
	}
	err := do()
	if err == nil {
		// They also report no error for a COMMIT that they skipped because ctx has
		// ended.
		if _, err = a.conn.ExecContext(ctx, "COMMIT"); cmp.Or(err, ctx.Err()) == nil {
			return nil
		}
		err = failedStep(steps[len(steps)-1], cmp.Or(err, ctx.Err()))
	}
	if _, failed := a.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); failed != nil {
		a.spoilt = true
	}
	return err
}

// alone applies a step that doesn't run in a transaction. It first records that the
// step has begun, so that after a crash the next Apply knows that the step may have
// been applied.
func (a *applier) alone(ctx context.Context, s Step, before *entry) error {
	switch taken, err := a.asked(ctx, s); {
	case err != nil:
		return err
	case taken:
		a.tell(s, Skipped)
		return a.record(ctx, s.ID, entry{state: done})
	case before.state == started:
		if err := a.set(ctx, s, s.Retry); err != nil {
			return err
		}
	}
	switch {
	case s.reads(): // which can't be left half done
	case before.state != started:
		*before = entry{state: started}
		if err := a.record(ctx, s.ID, *before); err != nil {
			return err
		}
	case s.Done == "" && s.Run == Exec:
		return failedStep(s, errors.New("it may have been taken or not, and the plan has no query that tells; see by hand"))
	}
	if err := a.at(ctx, "before "+s.ID); err != nil {
		return err
	}
	a.tell(s, Began)
	err := a.run(ctx, s, *before)
	// If the connection was lost, the server may have completed the statement nevertheless.
	if err != nil && !a.spoilt && ctx.Err() == nil {
		if taken, failed := a.asked(ctx, s); failed == nil && taken {
			err = a.record(ctx, s.ID, entry{state: done})
		}
	}
	if err == nil {
		a.tell(s, Ended)
	}
	return err
}

// record records how far a step or a phase has got.
func (a *applier) record(ctx context.Context, id string, e entry) error {
	if err := a.at(ctx, "record "+id+" "+string(e.state)); err != nil {
		return err
	}
	return a.ledger.write(ctx, id, e)
}

// asked runs the step's Done query, if it has one, to find out whether the step was applied.
func (a *applier) asked(ctx context.Context, s Step) (bool, error) {
	if s.Done == "" {
		return false, nil
	}
	taken, err := database.One(ctx, a.conn, s.Done, database.Number)
	if err != nil {
		return false, failedStep(s, err)
	}
	return taken != 0, nil
}

// run runs a step and records the result.
func (a *applier) run(ctx context.Context, s Step, before entry) (err error) {
	after := entry{state: done}
	if s.Unit != 0 || s.reads() {
		after.state = committed
	}
	switch s.Run {
	case Exec:
		err = a.exec(ctx, s.SQL)
	case locking:
		err = a.lock(ctx, s)
	case Check:
		err = a.check(ctx, s)
	case Count:
		var n int64
		n, err = database.One(ctx, a.conn, s.SQL, database.Number)
		after.detail = strconv.FormatInt(n, 10)
	case Backfill, assigning:
		err = a.backfill(ctx, s, s.SQL, before)
	case timing:
		err = a.checkTimes(ctx, s)
	default:
		err = fmt.Errorf("there is no way %q to run it", s.Run)
	}
	if err != nil {
		return failedStep(s, err)
	}
	return a.record(ctx, s.ID, after)
}

// check runs a query that must not return a row.
func (a *applier) check(ctx context.Context, s Step) error {
	const most = 20
	rows, err := a.conn.QueryContext(ctx, a.fill("check", "{query}", s.SQL))
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.NullString, len(columns))
	dest := make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	var all []string
	for rows.Next() && len(all) < most {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		all = append(all, database.Joined(columns, ", ", func(i int, name string) string { return name + " = " + values[i].String }))
	}
	if len(all) == 0 {
		return rows.Err()
	}
	found := strings.Join(all, "; ")
	return fmt.Errorf("a row was found that should not exist: %s; %s; the query is: %.500s", database.Printable(found),
		cmp.Or(s.Remedy, "find all such rows, and correct them"), strings.TrimSuffix(s.SQL, " LIMIT 1"))
}

// tell reports an event of a step to Progress.
func (a *applier) tell(s Step, event string) { a.report(Progress{Step: s, Event: event}) }

// retried reports why the current steps have to wait.
func (a *applier) retried(err error) {
	if len(a.current) > 0 {
		a.report(Progress{Step: a.current[0], Event: Retried, Err: err})
	}
}

func (a *applier) report(p Progress) {
	if a.options.Progress != nil {
		p.Phase = a.phase
		a.options.Progress(p)
	}
}

// at marks a point where tests can simulate a crash, which they request in ctx.
func (a *applier) at(ctx context.Context, point string) error {
	err := failpoint.At(ctx, point)
	if err != nil {
		a.spoilt = true // like the connection of a process that was killed
	}
	return err
}

// close restores the session's settings and returns the connection, or drops it.
func (a *applier) close(ctx context.Context) {
	if !a.spoilt && a.restore != nil {
		err := a.restore()
		if err == nil {
			_, err = a.conn.ExecContext(context.WithoutCancel(ctx), a.withLock("unlock"))
		}
		a.spoilt = err != nil
	}
	if a.spoilt {
		_ = a.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = a.conn.Close()
}
