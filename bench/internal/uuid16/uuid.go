// Package uuid16 holds the key that database/sql carries as 16 bytes.
package uuid16

import (
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
)

// A UUID is google/uuid's, which speaks to databases in text of 36 characters.
// This one speaks in its 16 bytes, as MySQL's BINARY(16) wants and Postgres's
// uuid understands.
type UUID uuid.UUID

// Value implements [driver.Valuer].
func (u UUID) Value() (driver.Value, error) { return u[:], nil }

// Scan implements [database/sql.Scanner].
func (u *UUID) Scan(src any) (err error) {
	switch src := src.(type) {
	case []byte:
		if len(src) == len(u) {
			copy(u[:], src)
			return nil
		}
		*(*uuid.UUID)(u), err = uuid.ParseBytes(src)
	case string:
		*(*uuid.UUID)(u), err = uuid.Parse(src)
	default:
		err = fmt.Errorf("uuid16: a UUID cannot be read from %T", src)
	}
	return err
}

func (u UUID) String() string { return uuid.UUID(u).String() }
