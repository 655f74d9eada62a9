// Package uuid16 has a UUID that database/sql passes to the database as 16 bytes.
package uuid16

import (
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
)

// A UUID is like google/uuid's, but it's sent to the database as its 16 bytes, whereas
// google/uuid sends 36 characters of text. The bytes are what MySQL's BINARY(16) needs,
// and Postgres's uuid accepts them as well.
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
