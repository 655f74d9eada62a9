package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// keys measures the cost of writing and reading a key as text and JSON. The yardsticks
// are the standard library with a plain number, and the peers with their own keys.
func keys() topic {
	const number = 1<<62 + 1 // 19 digits
	var (
		id     = pk.ID(number)
		text   = []byte(id.String())
		quoted = []byte(strconv.Quote(id.String()))
		buf    = make([]byte, 0, 32)
		back   pk.ID
	)
	marshalJSON := func() (err error) { kept.text, err = id.MarshalJSON(); return err }
	unmarshalJSON := func() error { return back.UnmarshalJSON(quoted) }
	marshalText := func() (err error) { kept.text, err = id.MarshalText(); return err }
	unmarshalText := func() error { return back.UnmarshalText(text) }
	against := func(name string, work func() error, beside string, yardstick func() error, allocs int) trial {
		return trial{
			name: name, work: repeat(work),
			against: beside, yardstick: repeat(yardstick),
			pace: pace{turn: 5 * time.Millisecond},
			bar:  bar{fmt.Sprintf("≤ %d alloc", allocs), func(r result) bool { return r.allocs <= allocs }},
		}
	}
	t := topic{
		name:  "Keys",
		title: "pk.ID as text and JSON, and pk.SortText where its name is given",
		trials: []trial{
			against("MarshalJSON", marshalJSON,
				"AppendInt in quotes",
				func() error {
					kept.text = append(strconv.AppendInt(append(make([]byte, 0, 24), '"'), number, 10), '"')
					return nil
				}, 1),
			against("UnmarshalJSON", unmarshalJSON,
				"ParseInt between quotes",
				func() (err error) {
					kept.number, err = strconv.ParseInt(string(quoted[1:len(quoted)-1]), 10, 64)
					return err
				}, 1),
			against("MarshalText", marshalText,
				"AppendInt",
				func() error { kept.text = strconv.AppendInt(make([]byte, 0, 24), number, 10); return nil }, 1),
			against("UnmarshalText", unmarshalText,
				"ParseInt",
				func() (err error) { kept.number, err = strconv.ParseInt(string(text), 10, 64); return err }, 1),
			against("AppendText",
				func() (err error) { buf, err = id.AppendText(buf[:0]); return err },
				"AppendInt to a buffer",
				func() error { buf = strconv.AppendInt(buf[:0], number, 10); return nil }, 0),
		},
	}
	const (
		digitsOut = "A BIGINT has 19 decimal digits, and each pair of them takes a division. xid and ULID take 5 bits for each of their letters. " +
			"The standard library needs longer for the same digits (“AppendInt”). `SortText` is base32 too; see its row."
		digitsIn = "19 decimal digits are a chain of multiplications. Each letter of an xid or ULID is looked up and shifted on its own. " +
			"The standard library needs longer for the same digits (“ParseInt”). `SortText` is base32 too; see its row."
	)
	var (
		flake              = snowflake.ID(number)
		xidID, xidBack     = xid.New(), xid.ID{}
		ulidID, ulidBack   = ulid.Make(), ulid.ULID{}
		uuidID, uuidBack   = uuid.New(), uuid.UUID{}
		xidQuoted          = []byte(strconv.Quote(xidID.String()))
		ulidText, uuidText = []byte(ulidID.String()), []byte(uuidID.String())
		short, shortBack   = pk.SortText(number), pk.SortText(0)
		shortText          = []byte(short.String())
		shortQuoted        = []byte(strconv.Quote(short.String()))
	)
	for _, peer := range []struct {
		name   string
		work   func() error
		beside string
		theirs func() error
		why    string
	}{
		{"MarshalJSON", marshalJSON, "bwmarrin's", func() (err error) { kept.text, err = flake.MarshalJSON(); return err }, ""},
		{"UnmarshalJSON", unmarshalJSON, "bwmarrin's", func() error { return flake.UnmarshalJSON(quoted) }, ""},
		{"MarshalJSON", marshalJSON, "xid's", func() (err error) { kept.text, err = xidID.MarshalJSON(); return err }, digitsOut},
		{"UnmarshalJSON", unmarshalJSON, "xid's", func() error { return xidBack.UnmarshalJSON(xidQuoted) }, digitsIn},
		{"MarshalText", marshalText, "ULID's", func() (err error) { kept.text, err = ulidID.MarshalText(); return err }, digitsOut},
		{"UnmarshalText", unmarshalText, "ULID's", func() error { return ulidBack.UnmarshalText(ulidText) }, digitsIn},
		{"SortText.MarshalJSON", func() (err error) { kept.text, err = short.MarshalJSON(); return err }, "xid's", func() (err error) { kept.text, err = xidID.MarshalJSON(); return err }, ""},
		{"SortText.UnmarshalJSON", func() error { return shortBack.UnmarshalJSON(shortQuoted) }, "xid's", func() error { return xidBack.UnmarshalJSON(xidQuoted) }, ""},
		{"SortText.MarshalText", func() (err error) { kept.text, err = short.MarshalText(); return err }, "ULID's", func() (err error) { kept.text, err = ulidID.MarshalText(); return err }, ""},
		{"SortText.UnmarshalText", func() error { return shortBack.UnmarshalText(shortText) }, "ULID's", func() error { return ulidBack.UnmarshalText(ulidText) }, ""},
		{"MarshalText", marshalText, "UUID's", func() (err error) { kept.text, err = uuidID.MarshalText(); return err }, ""},
		{"UnmarshalText", unmarshalText, "UUID's", func() error { return uuidBack.UnmarshalText(uuidText) }, ""},
	} {
		beside := against(peer.name, peer.work, peer.beside, peer.theirs, 1)
		beside.bar, beside.peer, beside.why = bar{}, itsYardstick, peer.why
		t.trials = append(t.trials, beside)
	}
	return t
}

// repeat turns a function into a workload. The function should be slow compared to a
// function call, since that's included in the measurement.
func repeat(f func() error) workload {
	return func(n int) error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}
