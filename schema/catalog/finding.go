package catalog

import (
	"fmt"
	"slices"
)

// A Finding is something that should be known before giving up auto-increment.
type Finding struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	Column   Column   `json:"column,omitzero"` // the key or the child; in the findings of a [Report] only set for a [LikelyChild]
	Text     string   `json:"text"`            // what was found, with names and numbers
	Remedy   string   `json:"remedy"`          // what to do
}

// Severity says how serious a finding is.
type Severity int

const (
	Note    Severity = iota // good to know
	Warning                 // the migration to generated keys has to take it into account
	Blocker                 // must be dealt with before the first generated key is inserted
)

var severities = []string{"note", "warning", "blocker"}

func (s Severity) String() string {
	if s < Note || s > Blocker {
		return fmt.Sprintf("Severity(%d)", int(s))
	}
	return severities[s]
}

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("catalog: %q is not a severity; use note, warning or blocker", text)
	}
	*s = Severity(i)
	return nil
}

// A Kind says what a [Finding] is about.
type Kind string

const (
	NarrowKey       Kind = "narrow-key"       // the key has fewer than 64 bits
	NarrowChild     Kind = "narrow-child"     // a foreign key to it has fewer than 64 bits
	AlwaysGenerated Kind = "always-generated" // GENERATED ALWAYS refuses a key that the program sends
	StillCounts     Kind = "still-counts"     // the database still assigns a number to a row without a key
	SignMismatch    Kind = "sign-mismatch"    // only one of a key and its child is UNSIGNED
	TextChild       Kind = "text-child"       // a foreign key stores the key as text
	LikelyChild     Kind = "likely-child"     // a column has the name of a key, but no foreign key
	KeysInText      Kind = "keys-in-text"     // text or documents contain keys; only with [Options.AllKeys]
	NearEnd         Kind = "near-end"         // three quarters of the numbers are used
	Jumped          Kind = "jumped"           // the counter is higher than counting could have made it
	NarrowSequence  Kind = "narrow-sequence"  // the sequence ends before its column does
	SharedSequence  Kind = "shared-sequence"  // several columns take their numbers from one sequence
	LateSequence    Kind = "late-sequence"    // the default names its sequence as text, so the server does not track it
	Partitioned     Kind = "partitioned"      // the table has partitions
	Inherited       Kind = "inherited"        // other tables inherit the column
	ViewDepends     Kind = "view"             // Postgres: a view uses the key or a child
	Depends         Kind = "dependent"        // another object keeps Postgres from altering the type
	NarrowRoutine   Kind = "narrow-routine"   // a function, procedure or trigger uses integers of fewer than 64 bits
	NotPrimary      Kind = "not-primary"      // the column is not the whole primary key
	NotNumeric      Kind = "not-numeric"      // the column counts, but does not hold numbers
	Unseen          Kind = "unseen"           // the account may not be allowed to see everything
)
