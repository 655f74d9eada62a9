package main

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// within returns a day on which the preset could make ids. There's no day that works
// for all of them, because baidu ended before the default began.
func within(preset string) time.Time {
	if preset == "baidu" {
		return time.Date(2023, 11, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC)
}

// TestInspectPresets checks, for every preset and in both forms, that an id is decoded
// into exactly the parts that it was composed of.
func TestInspectPresets(t *testing.T) {
	t.Parallel()
	for name, layout := range idgen.Presets() {
		at := within(name)
		for sequence := int64(1); sequence <= 2; sequence++ {
			id, err := layout.Compose(idgen.Parts{Time: at, Sequence: sequence})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for form, text := range map[string]string{decimal: strconv.FormatInt(id, 10), sortable: pk.SortText(id).String()} {
				got := call(t, nil, "inspect", "--json", "--layout", name, "--form", form, text)
				var r reading
				if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.ID != strconv.FormatInt(id, 10) || !r.Time.Equal(at) || r.Sequence != sequence || r.Layout != name || r.Form != form {
					t.Errorf("%s of %s: %+v (%v)", text, name, got, err)
				}
			}
			call(t, nil, "inspect", "--layout", "auto", strconv.FormatInt(id, 10)).prints(t, 0, "in the layout "+name+"\n")
		}
	}
}

func TestInspectDraws(t *testing.T) {
	t.Parallel()
	id := dbtest.Must(dbtest.Must(idgen.Preset("twitter"))(t).Compose(idgen.Parts{Time: time.Date(2022, 6, 28, 16, 7, 40, 105e6, time.UTC), Worker: 26, Sequence: 1, Fixed: []int64{11}}))(t)
	got := call(t, nil, "inspect", strconv.FormatInt(id, 10), "--layout", "twitter")
	want := `1541815603606036481, read as decimal in the layout twitter
  time        2022-06-28T16:07:40.105Z
  datacenter  11
  worker      26
  sequence    1
  sortable    1ASD13XH1F801
  JavaScript  rounds this number; pass it as a string

  0 00101010110010110100001000111110110001000 01011      11010  000000000001
    time                                      datacenter worker sequence
`
	if got.out != want {
		t.Errorf("got\n%s\nwant\n%s", got.out, want)
	}
}

// TestInspectForms checks that a text which is valid in both forms is read in both.
func TestInspectForms(t *testing.T) {
	t.Parallel()
	const text = "1234567890123"
	if got := call(t, nil, "inspect", text); strings.Count(got.out, "read as decimal") != 1 || strings.Count(got.out, "read as sortable") != 1 {
		t.Errorf("%+v", got)
	}
	if got := call(t, nil, "inspect", text, "--form", "decimal"); strings.Contains(got.out, "read as sortable") {
		t.Errorf("%+v", got)
	}
	// With a layout of 64 bits, ids are unsigned.
	if got := call(t, nil, "inspect", "9223372036854775809", "--layout", "discord"); got.status != 0 || !strings.HasPrefix(got.out, "9223372036854775809,") {
		t.Errorf("%+v", got)
	}
	call(t, nil, "inspect", "9223372036854775809").prints(t, 0, "bits that the layout does not have")
}

// TestInspectOtherForms reads the same ids in each form that has to be named. Those of
// bwmarrin/snowflake were written by that library; see bench/bwmarrin_test.go.
func TestInspectOtherForms(t *testing.T) {
	t.Parallel()
	file := dbtest.Must(os.Open("testdata/bwmarrin.csv"))(t)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) < 20 {
		t.Fatalf("%d vectors, %v", len(records), err)
	}
	read := func(form, text, want string) {
		t.Helper()
		got := call(t, nil, "inspect", "--json", "--form", form, text)
		var r reading
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.ID != want || r.Form != form {
			t.Errorf("%s as %s: %+v (%v), want %s", text, form, got, err, want)
		}
	}
	for _, record := range records[1:] {
		for i, form := range records[0][1:] {
			read(form, record[i+1], record[0])
		}
		id := pk.ID(dbtest.Must(strconv.ParseInt(record[0], 10, 64))(t))
		read("hex", pk.FormatHex(id), record[0])
		read("base58", pk.FormatBase58(id), record[0])
		read("base62", pk.FormatBase62(id), record[0])
		read("sortable", "blog_post_"+pk.SortText(id).String(), record[0])
	}
	for _, c := range []struct{ form, text string }{
		{"bwmarrin32", ""}, {"bwmarrin32", "yb"}, {"bwmarrin32", "l"}, {"bwmarrin32", "B"}, {"bwmarrin32", "byyyyyyyyyyyy0"}, {"bwmarrin32", "999999999999999999"},
		{"bwmarrin32", "eyyyyyyyyyyyy"}, {"bwmarrin36", ""}, {"bwmarrin36", "01"}, {"bwmarrin36", "A"}, {"bwmarrin36", "1y2p0ij32e8e8"}, {"bwmarrin36", "zzzzzzzzzzzzz"},
		{"bwmarrin36", "zzzzzzzzzzzzzzzzzzzzzzzzzzz"}, {"bwmarrin58", ""}, {"bwmarrin58", "12"}, {"bwmarrin58", "l"}, {"bwmarrin58", "0"}, {"bwmarrin58", "npL6MjP8Qfd"},
		{"bwmarrin58", "ZZZZZZZZZZZ"}, {"base58", "4zzv4rZaYpl"}, {"hex", "x"}, {"base62", "LygHa16AHYG"}, {"sortable", "user_"}, {"sortable", "user-07W9G540PY001"},
	} {
		if got := call(t, nil, "inspect", "--form", c.form, "--", c.text); got.status != 1 || got.out != "" || got.errors == "" {
			t.Errorf("%q as %s: %+v", c.text, c.form, got)
		}
	}
	call(t, nil, "inspect", "--form", "base64", "1").says(t, 2, "hex, base58, base62, bwmarrin32, bwmarrin36 or bwmarrin58")
	call(t, nil, "inspect", "4zzv4rZaYpk").says(t, 1) // its form was not named
}

// TestInspectLines checks that lines without a valid id are reported by number, and
// don't keep the other lines from being read.
func TestInspectLines(t *testing.T) {
	t.Parallel()
	got := callWith(t, nil, "284061204176896001\n\nx\n284061204176896002\r\n", "inspect")
	want := called{
		status: 1,
		out:    "284061204176896001\t2027-02-23T20:37:48.677Z\tworker 752\tsequence 1\n284061204176896002\t2027-02-23T20:37:48.677Z\tworker 752\tsequence 2\n",
	}
	if got.status != want.status || got.out != want.out || !strings.HasPrefix(got.errors, "line 3: ") || !strings.Contains(got.errors, "1 of 4 lines") {
		t.Errorf("%+v", got)
	}
	got = callWith(t, nil, "284061204176896001\n284061204176896002\n", "inspect", "--json")
	for i, line := range strings.Split(strings.TrimSpace(got.out), "\n") {
		var r reading
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Sequence != int64(i+1) {
			t.Errorf("line %d: %s (%v)", i, line, err)
		}
	}
}

// TestLayout checks that a preset and its text are the same layout. Its drawing is on a page,
// for TestPages.
func TestLayout(t *testing.T) {
	t.Parallel()
	for name, layout := range idgen.Presets() {
		byName, byText := call(t, nil, "layout", name), call(t, nil, "layout", layout.String())
		ascii := call(t, nil, "layout", strings.NewReplacer("│", "|", "×", "x").Replace(layout.String()))
		if byName.status != 0 || byName != byText || byName != ascii {
			t.Errorf("%s: %+v, %+v, %+v", name, byName, byText, ascii)
		}
	}
	var all []drawing
	if got := call(t, nil, "layout", "--json"); json.Unmarshal([]byte(got.out), &all) != nil || len(all) != len(maps.Collect(idgen.Presets())) {
		t.Errorf("%+v", got)
	}
}

// TestRange checks that the range has the ids of exactly those ticks that begin in it.
func TestRange(t *testing.T) {
	t.Parallel()
	for name, layout := range idgen.Presets() {
		l := layout
		from := within(name)
		first, last, err := idRange(l, from.Format(time.DateOnly), from.Add(2*time.Second).Format(time.RFC3339))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, tc := range []struct {
			id     int64
			inside bool
		}{{first - 1, false}, {first, true}, {last, true}, {last + 1, false}} {
			at := l.Decode(tc.id).Time
			if inside := !at.Before(from) && at.Before(from.Add(2*time.Second)); inside != tc.inside {
				t.Errorf("%s: the tick of %d begins at %v", name, tc.id, at)
			}
		}
	}
}
