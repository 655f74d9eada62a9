package gormid

import (
	"fmt"

	"gorm.io/gorm/schema"
)

// A FieldError says why a model's declaration does not let its key be filled,
// or lets it be damaged. Every Create of that model fails with it, before a
// transaction begins, until the declaration is changed.
type FieldError struct {
	Model   string // such as "shop.User"
	Field   string
	Type    string
	Problem string // what is wrong
	Remedy  string // what to declare instead
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("gormid: %s.%s (%s) %s; %s", e.Model, e.Field, e.Type, e.Problem, e.Remedy)
}

// A CreateError says why one call of Create, or one of its rows, was refused.
// The call's transaction has been rolled back, if it had begun.
type CreateError struct {
	Model   string // such as "shop.User", or the table if there is no model
	Row     int    // which row of the call, from 0; -1 if all
	Problem string
	Remedy  string
	Err     error // the cause or GORM's error for the same fault; may be nil
}

func (e *CreateError) Error() string {
	where := e.Model
	if e.Row >= 0 {
		where = fmt.Sprintf("row %d of %s", e.Row, e.Model)
	}
	return fmt.Sprintf("gormid: %s %s; %s", where, e.Problem, e.Remedy)
}

// Unwrap returns Err.
func (e *CreateError) Unwrap() error { return e.Err }

// modelName is short where schema.String spells the whole import path.
func modelName(s *schema.Schema) string {
	if s.ModelType.Name() == "" { // GORM makes the types of its join tables
		return s.Table
	}
	return s.ModelType.String()
}
