package idtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// T is the part of testing.TB that this package needs, so that it does not import testing.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Pool returns a real pool. Tests that run at the same time need different worker
// numbers.
func Pool(t T, number int64) *idgen.Pool {
	t.Helper()
	pool := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(number)}))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// Findings returns the findings of a Check as severity:kind:table.column, in order. The
// error must mention each of them with its remedy.
func Findings(t T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*catalog.MismatchError](err)
	if !ok {
		t.Fatalf("got %v, want a *MismatchError", err)
	}
	var all []string
	for _, f := range e.Findings {
		if f.Text == "" || f.Remedy == "" || !strings.Contains(err.Error(), f.Text) || !strings.Contains(err.Error(), f.Remedy) {
			t.Errorf("%+v is not in the error\n%v", f, err)
		}
		all = append(all, fmt.Sprintf("%s:%s:%s.%s", f.Severity, f.Kind, f.Column.Table.Name, f.Column.Name))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Leave takes all tables off auto-increment.
func Leave(t T, conn *sql.DB, options autoinc.PlanOptions) {
	t.Helper()
	plan := errtest.Must(autoinc.NewPlan(t.Context(), conn, options))(t)
	for {
		phase := errtest.Must(autoinc.Apply(t.Context(), conn, plan, autoinc.ApplyOptions{}))(t)
		if phase.Name == "" {
			return
		}
	}
}
