package idgen_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// These tests reproduce two issues of github.com/bwmarrin/snowflake. Its sequence
// starts at 0 in each millisecond. If a process makes no more than one id a
// millisecond, the lowest bits of all its ids are therefore 0. The same happens with
// Config.NoSpread. TestModuloIsEven tests the distribution under all moduli up to
// 1,024.

// oneEachMillisecond returns n ids that were drawn a millisecond apart.
func oneEachMillisecond(t *testing.T, cfg idgen.Config, n int) []int64 {
	t.Helper()
	return draw(t, cfg, n, 1000, true)
}

// TestBwmarrinIssue40: all ids are even.
// https://github.com/bwmarrin/snowflake/issues/40
func TestBwmarrinIssue40(t *testing.T) {
	raced.Skip(t)
	const n = 10_000
	odd := func(ids []int64) (odd int) {
		for _, id := range ids {
			odd += int(id & 1)
		}
		return odd
	}
	if got := odd(oneEachMillisecond(t, idgen.Config{NoSpread: true}, n)); got != 0 {
		t.Errorf("without spread %d of %d ids are odd, want none", got, n)
	}
	// Six standard deviations are 300.
	if got := odd(oneEachMillisecond(t, idgen.Config{}, n)); got < n/2-300 || got > n/2+300 {
		t.Errorf("%d of %d ids are odd, want about half", got, n)
	}
}

// TestBwmarrinIssue44: if an application spreads its rows over N tables by id % N, most
// of the tables stay empty.
// https://github.com/bwmarrin/snowflake/issues/44
func TestBwmarrinIssue44(t *testing.T) {
	raced.Skip(t)
	const n = 20_000
	skewed, even := oneEachMillisecond(t, idgen.Config{NoSpread: true}, n), oneEachMillisecond(t, idgen.Config{}, n)
	for _, c := range []struct{ tables, used int }{ // used counts the tables that get rows without spread
		{2, 1},
		{10, 5},
		{16, 1},
		{1000, 125},
		{1024, 1},
	} {
		rows := func(ids []int64) map[int64]int {
			rows := make(map[int64]int)
			for _, id := range ids {
				rows[id%int64(c.tables)]++
			}
			return rows
		}
		if got := len(rows(skewed)); got != c.used {
			t.Errorf("without spread %d of %d tables have rows, want %d", got, c.tables, c.used)
		}
		got := rows(even)
		if len(got) != c.tables {
			t.Errorf("%d of %d tables have rows", len(got), c.tables)
		}
		for table, rows := range got {
			if mean := n / c.tables; rows > 3*mean {
				t.Errorf("table %d of %d has %d rows, the mean is %d", table, c.tables, rows, mean)
			}
		}
	}
}
