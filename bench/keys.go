package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// keys asks what it costs to write and read a key, beside what the standard
// library takes for the number in it.
func keys() topic {
	const number = 1<<62 + 1 // 19 digits
	var (
		id     = pk.ID(number)
		text   = []byte(id.String())
		quoted = []byte(strconv.Quote(id.String()))
		buf    = make([]byte, 0, 32)
		back   pk.ID
	)
	against := func(name string, work func() error, beside string, yardstick func() error, allocs int) trial {
		return trial{
			name: name, work: repeat(work),
			against: beside, yardstick: repeat(yardstick),
			pace: pace{turn: 5 * time.Millisecond},
			bar:  bar{fmt.Sprintf("≤ %d alloc", allocs), func(r result) bool { return r.allocs <= allocs }},
		}
	}
	return topic{
		name:  "Keys",
		title: "pk.ID as text and JSON",
		trials: []trial{
			against("MarshalJSON",
				func() (err error) { kept.text, err = id.MarshalJSON(); return err },
				"AppendInt in quotes",
				func() error {
					kept.text = append(strconv.AppendInt(append(make([]byte, 0, 24), '"'), number, 10), '"')
					return nil
				}, 1),
			against("UnmarshalJSON",
				func() error { return back.UnmarshalJSON(quoted) },
				"ParseInt between quotes",
				func() (err error) {
					kept.number, err = strconv.ParseInt(string(quoted[1:len(quoted)-1]), 10, 64)
					return err
				}, 1),
			against("MarshalText",
				func() (err error) { kept.text, err = id.MarshalText(); return err },
				"AppendInt",
				func() error { kept.text = strconv.AppendInt(make([]byte, 0, 24), number, 10); return nil }, 1),
			against("UnmarshalText",
				func() error { return back.UnmarshalText(text) },
				"ParseInt",
				func() (err error) { kept.number, err = strconv.ParseInt(string(text), 10, 64); return err }, 1),
			against("AppendText",
				func() (err error) { buf, err = id.AppendText(buf[:0]); return err },
				"AppendInt to a buffer",
				func() error { buf = strconv.AppendInt(buf[:0], number, 10); return nil }, 0),
		},
	}
}

// repeat makes a workload of a function that is dear enough to bear a call.
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
