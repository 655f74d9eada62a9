package pk_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
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

// key has what key types support by value, and pointer what they need a pointer for.
type (
	key interface {
		comparable
		driver.Valuer
		String() string
	}
	pointer[K any] interface {
		*K
		sql.Scanner
	}
)

// edges lists all numbers at which a form or an encoding changes.
var edges = []int64{
	0, 1, 9, 10, 31, 32, 33, 1023, 1024, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<60 - 1, 1 << 60, low, high,
	999999999999999999, 1000000000000000000, math.MaxInt64 - 1, math.MaxInt64,
}

// stored returns what a database has in the column of a key, as text.
func stored(key any) string {
	value, _ := driver.DefaultParameterConverter.ConvertValue(key)
	return fmt.Sprint(value)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
