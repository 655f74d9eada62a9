package sqlid

import (
	"fmt"
	"reflect"
)

// A FieldError says why the declaration of a struct does not let its key be
// filled. Every Fill of that type fails with it until the declaration is changed.
type FieldError struct {
	Model   string // such as "shop.User"
	Field   string // empty if it is about none
	Type    string // of the field
	Problem string // what is wrong
	Remedy  string // what to declare instead
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("sqlid: %s %s; %s", e.Model, e.Problem, e.Remedy)
	}
	return fmt.Sprintf("sqlid: %s.%s (%s) %s; %s", e.Model, e.Field, e.Type, e.Problem, e.Remedy)
}

// A RowError says why the rows of one call were not filled. None of them has
// changed.
type RowError struct {
	Model   string // such as "shop.User", or the type that was passed
	Row     int    // which row of the call, from 0; -1 if all
	Problem string
	Remedy  string
	Err     error // the cause; may be nil
}

func (e *RowError) Error() string {
	where := e.Model
	if e.Row >= 0 {
		where = fmt.Sprintf("row %d of %s", e.Row, e.Model)
	}
	return fmt.Sprintf("sqlid: %s %s; %s", where, e.Problem, e.Remedy)
}

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

func refuse(model reflect.Type, f reflect.StructField, problem, remedy string) error {
	return &FieldError{Model: model.String(), Field: f.Name, Type: f.Type.String(), Problem: problem, Remedy: remedy}
}
