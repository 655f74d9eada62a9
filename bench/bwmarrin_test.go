package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/bwmarrin/snowflake"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var update = flag.Bool("update", false, "write the vectors that the tests of cmd/snowkey read")

// TestBwmarrinVectors compares the vectors for snowkey inspect with what the real library
// writes.
func TestBwmarrinVectors(t *testing.T) {
	const file = "../cmd/snowkey/testdata/bwmarrin.csv"
	want := [][]string{{"id", "bwmarrin32", "bwmarrin36", "bwmarrin58"}}
	for _, id := range []snowflake.ID{
		0, 1, 31, 32, 33, 35, 36, 57, 58, 59, 1023, 1024, 3363, 3364, 1<<53 + 1, 1<<53 + 2, 1541815603606036480, 1541815603606036481,
		1234567890123456788, 1234567890123456789, math.MaxInt64 - 1, math.MaxInt64,
	} {
		want = append(want, []string{id.String(), id.Base32(), id.Base36(), id.Base58()})
	}
	if *update {
		f := dbtest.Must(os.Create(file))(t)
		dbtest.NoError(t, errors.Join(csv.NewWriter(f).WriteAll(want), f.Close()))
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("a module by itself does not have the file")
	}
	dbtest.NoError(t, err)
	defer f.Close()
	got, err := csv.NewReader(f).ReadAll()
	if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%s has\n%q, %v\nand the library writes\n%q; run the test with -update", file, got, err, want)
	}
	for _, v := range got[1:] { // the library must be able to read them as well
		id, err := strconv.ParseInt(v[0], 10, 64)
		id32, err32 := snowflake.ParseBase32([]byte(v[1]))
		id58, err58 := snowflake.ParseBase58([]byte(v[3]))
		if err := errors.Join(err, err32, err58); err != nil || id32.Int64() != id || id58.Int64() != id {
			t.Errorf("%q: %d, %d, %v", v, id32, id58, err)
		}
	}
}
