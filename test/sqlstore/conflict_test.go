package sqlstore_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// refusal returns the server's message for an error, after which the session has no
// transaction.
func refusal(dialect, code string) []byte {
	if dialect == "postgres" {
		fields := "SERROR\x00VERROR\x00C" + code + "\x00Mof a test\x00\x00"
		message := binary.BigEndian.AppendUint32([]byte("E"), uint32(len(fields)+4))
		return append(append(message, fields...), "Z\x00\x00\x00\x05I"...)
	}
	var number uint16
	fmt.Sscan(code, &number)
	body := binary.LittleEndian.AppendUint16([]byte{0xff}, number)
	body = append(body, "#HY000of a test"...)
	return append([]byte{byte(len(body)), 0, 0, 1}, body...)
}

// isUpdate reports whether a request is an UPDATE that sets the token of a test.
func isUpdate(request []byte) bool {
	return bytes.Contains(request, []byte("UPDATE ")) &&
		(bytes.Contains(request, []byte("the token")) || bytes.Contains(request, fmt.Appendf(nil, "%x", "the token")))
}

// conflicts has the errors that clusters and distributed databases return as a matter of
// course.
var conflicts = map[string][]string{
	"postgres": {"40001", "40P01", unknownResult},
	"mysql":    {"1213", "1020", "3101", "1205", "1180", "1047", "3796", "3797", "3798", "8002", "8022", "9007"},
}

// unknownResult is returned by CockroachDB if it can't tell whether it committed. The
// store does not try again, but leaves that to the keeper.
const unknownResult = "40003"

// A statement that fails because of another one is tried again. A server may also have
// executed the statement although it returns an error, for example if it lost its cluster
// in the meantime. In that case the second attempt changes nothing. It must not look as if
// another process had the row.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Servers(t) {
		for i, code := range conflicts[dialect] {
			t.Run(dialect+" "+code, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, dialect)
				through, proxy := db.Through(t)
				if dialect == "postgres" {
					through = through.With("default_query_exec_mode=exec") // one request with text and values
				}
				conn, direct := through.Connect(t), db.Connect(t)
				tables := 0
				for n := range 6 {
					executed, times := n%2 > 0, []int64{3, 1, 100}[n/2]
					if i > 0 && n > 1 && !dbtest.Nightly {
						break // all codes are handled in one place
					}
					t.Run(fmt.Sprintf("%d times, executed %v", times, executed), func(t *testing.T) {
						tables++
						store := open(t, through, conn, fmt.Sprint("lease", tables))
						plain := open(t, db, direct, fmt.Sprint("lease", tables))
						proxy.Answer(nil)
						var left atomic.Int64
						fail := func() {
							left.Store(times)
							proxy.Answer(func(request []byte) ([]byte, bool) {
								if isUpdate(request) && left.Add(-1) >= 0 {
									return refusal(dialect, code), executed
								}
								return nil, true
							})
						}
						// certain checks the result of an update whose row is now row.
						certain := func(ok bool, err error, row lease.Row, token string) {
							t.Helper()
							if left.Load() >= times {
								t.Fatal("no request was refused")
							}
							if tried := times - left.Load(); code == unknownResult && tried != 1 {
								t.Errorf("tried %d times", tried)
							}
							want := !executed && times < 8 && code != unknownResult
							if done := executed || want; (row.Token == token) != done {
								t.Errorf("the row has the token %q; executed %v", row.Token, done)
							}
							if ok != want || (err == nil) != want {
								t.Errorf("%v, %v; want %v", ok, err, want)
							}
						}
						c := free(t, store)
						fail()
						c.Token = "the token of the claim"
						_, ok, err := store.Claim(t.Context(), c)
						proxy.Answer(nil)
						certain(ok, err, only(t, plain), c.Token)

						held := only(t, plain)
						if held.Token == "" {
							return
						}
						fail()
						r := lease.Renewal{Terms: terms, Held: held, Token: "the token of the renewal", Wanted: 1 << 62, Volatile: c.Volatile}
						_, ok, err = store.Renew(t.Context(), r)
						proxy.Answer(nil)
						certain(ok, err, only(t, plain), r.Token)
					})
				}
			})
		}
	}
}

// With autocommit=0, the error comes from the COMMIT that follows the write, or there is no
// reply to it.
func TestConflictsAtCommit(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	through, proxy := db.With("autocommit=0").Through(t)
	conn, direct := through.Connect(t), db.Connect(t)
	tables := 0
	for _, tt := range []struct {
		code     string
		executed bool
	}{{"1213", false}, {"1213", true}, {"1180", false}, {"1180", true}, {"no reply", true}} {
		t.Run(fmt.Sprintf("%s, executed %v", tt.code, tt.executed), func(t *testing.T) {
			tables++
			store := open(t, through, conn, fmt.Sprint("commit", tables))
			plain := open(t, db, direct, fmt.Sprint("commit", tables))
			c := free(t, store)
			var seen atomic.Bool
			proxy.Answer(func(request []byte) ([]byte, bool) {
				if !bytes.Contains(request, []byte("COMMIT AND NO CHAIN")) || seen.Swap(true) {
					return nil, true
				}
				if tt.code == "no reply" {
					proxy.LoseReply(1)
					return nil, true
				}
				return refusal("mysql", tt.code), tt.executed
			})
			_, ok, err := store.Claim(t.Context(), c)
			proxy.Answer(nil)
			if row := only(t, plain); row.Token != c.Token || row.Revision != c.Seen.Revision+1 {
				t.Errorf("the row is %+v", row)
			}
			if !seen.Load() || ok == tt.executed || (err == nil) == tt.executed {
				t.Errorf("%v, %v; executed %v, seen %v", ok, err, tt.executed, seen.Load())
			}
		})
	}
}

// only returns the row of the only worker.
func only(t *testing.T, store lease.Store) lease.Row {
	t.Helper()
	rows, err := store.Rows(t.Context(), terms, 0, 1023)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	return rows[0]
}
