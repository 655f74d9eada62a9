// Package uuid16 has a UUID that database/sql passes to the database as 16 bytes.
package uuid16

import (
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
)

// A UUID is a UUID of google/uuid in another encoding. While google/uuid sends its
// UUIDs to the database as 36 characters of text, this one is sent as its 16 bytes,
// which is what MySQL's BINARY(16) needs and what Postgres's uuid accepts as well.
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
