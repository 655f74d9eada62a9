package idtest

import (
	"errors"
	"strings"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// WantRowError checks that err is a RowError of an integration that reports a problem of a
// row, or of all rows if row is -1, and has a remedy.
func WantRowError(t T, err error, row int, problem string) {
	t.Helper()
	e, ok := errors.AsType[*fill.RowError](err)
	if !ok {
		t.Fatalf("got %v, want a *RowError", err)
	}
	if e.Row != row || !strings.Contains(e.Problem, problem) || e.Remedy == "" || e.Model == "" {
		t.Errorf("got %+v, want row %d and problem %q", *e, row, problem)
	}
}

// WantFieldError checks that err is a FieldError of an integration that reports a problem of
// a field, such as "ID" or "ID (int32)", and has a remedy.
func WantFieldError(t T, err error, field, problem string) {
	t.Helper()
	e, ok := errors.AsType[*fill.FieldError](err)
	if !ok {
		t.Fatalf("got %v, want a *FieldError", err)
	}
	if named := e.Field == field || e.Field+" ("+e.Type+")" == field; !named || !strings.Contains(e.Problem, problem) || e.Remedy == "" || e.Model == "" {
		t.Errorf("got %+v, want field %q and problem %q", *e, field, problem)
	}
}
