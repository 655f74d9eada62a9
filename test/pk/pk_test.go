package pk_test

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These keys are consecutive and above 2^53, so they are equal as float64.
const (
	low  = 1234567890123456788
	high = 1234567890123456789
)

func TestMain(m *testing.M) { reuse.Main(m) }

type user struct{ ID pk.Of[user] }

func (user) Prefix() string { return "user" }

// stored returns what a database has in the column of a key, as text.
func stored(key any) string {
	value, _ := driver.DefaultParameterConverter.ConvertValue(key)
	return fmt.Sprint(value)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
