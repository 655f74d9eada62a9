package pk_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
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

// sortable is an independent implementation. It relies on big.Int, which supports base
// 32, but with another alphabet.
func sortable(n int64) string {
	s := strings.Map(func(r rune) rune {
		return rune("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[strings.IndexRune("0123456789abcdefghijklmnopqrstuv", r)])
	}, big.NewInt(n).Text(32))
	return strings.Repeat("0", 13-len(s)) + s
}

func mustRefuse(t *testing.T, what string, err error) {
	t.Helper()
	refused, ok := errors.AsType[*pk.Error](err)
	switch {
	case !ok:
		t.Errorf("%s: got error %v, want a *pk.Error", what, err)
	case !strings.HasPrefix(refused.Type, "pk.") || refused.Value == "" || refused.Reason == "":
		t.Errorf("%s: error says too little: %+v", what, refused)
	case len(refused.Error()) > 400:
		t.Errorf("%s: error has %d bytes", what, len(refused.Error()))
	}
}
