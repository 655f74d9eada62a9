package pk_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// FuzzJSON decodes one document with the key types and with encoding/json, and compares
// the results.
func FuzzJSON(f *testing.F) {
	for _, n := range append(edges, negativeEdges...) {
		f.Add([]byte(decimal(n)))
		f.Add([]byte(` "` + decimal(n) + `" `))
	}
	for _, text := range []string{"null", `"null"`, "1.5", "1e3", "-0", `""`, "true", "{}", "[]", `"007"`, `"\u0035"`, `"128GGYHYYK08N"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		decoder := json.NewDecoder(bytes.NewReader(doc))
		decoder.UseNumber()
		var plain any
		if !json.Valid(doc) || decoder.Decode(&plain) != nil {
			return
		}
		want, ok := int64(7), true // null leaves the key unchanged
		short, shortOK := want, true
		switch v := plain.(type) {
		case nil:
		case json.Number:
			want, ok = canonical(v.String())
			short, shortOK = want, ok
		case string:
			want, ok = canonical(v)
			n, err := pk.ParseSort(v)
			short, shortOK = n.Int64(), err == nil
			if bytes.ContainsRune(doc, '\\') {
				ok, shortOK = false, false
			}
		default:
			ok, shortOK = false, false
		}

		id := pk.ID(7)
		err := json.Unmarshal(doc, &id)
		if (err == nil) != ok || ok && id.Int64() != want || !ok && id != 7 {
			t.Fatalf("%s became ID %d, %v; want %d, %v", doc, id.Int64(), err, want, ok)
		}
		sort := pk.SortText(7)
		err = json.Unmarshal(doc, &sort)
		if (err == nil) != shortOK || shortOK && sort.Int64() != short || !shortOK && sort != 7 {
			t.Fatalf("%s became SortText %d, %v; want %d, %v", doc, sort.Int64(), err, short, shortOK)
		}
	})
}

// FuzzScan scans one column value into every type, both as text and as bytes, and parses it.
// Only text that strconv would write for an int64 is accepted, as big.Int says.
func FuzzScan(f *testing.F) {
	for _, n := range append(edges, negativeEdges...) {
		f.Add([]byte(decimal(n)), n, uint64(n))
	}
	for _, text := range badDecimal {
		f.Add([]byte(text), int64(0), uint64(0))
	}
	f.Add([]byte(sortable(high)), int64(-1), uint64(1<<63))
	f.Add([]byte("5 "), int64(0), uint64(0))
	f.Fuzz(func(t *testing.T, column []byte, n int64, u uint64) {
		before := bytes.Clone(column)
		want, ok := canonical(string(column))
		padded, paddedOK := canonical(strings.TrimRight(string(column), " "))
		id, err := pk.Parse(string(column))
		if (err == nil) != ok || id.Int64() != want {
			t.Fatalf("Parse(%q) = %d, %v; big.Int says %d, %v", column, id, err, want, ok)
		}
		if err != nil {
			mustRefuse(t, string(column), err)
		}
		var text pk.Text
		var of pk.Of[user]
		var str pk.String
		for _, src := range []any{column, string(column)} {
			if err := id.Scan(src); (err == nil) != ok || ok && id.Int64() != want {
				t.Fatalf("ID.Scan(%q) = %d, %v; want %d, %v", src, id, err, want, ok)
			}
			if err := of.Scan(src); (err == nil) != ok || ok && of.Int64() != want {
				t.Fatalf("Of.Scan(%q) = %d, %v; want %d, %v", src, of, err, want, ok)
			}
			if err := str.Scan(src); (err == nil) != ok || ok && string(str) != string(column) {
				t.Fatalf("String.Scan(%q) = %q, %v; want %v", src, str, err, ok)
			}
			if err := text.Scan(src); (err == nil) != paddedOK || paddedOK && text.Int64() != padded {
				t.Fatalf("Text.Scan(%q) = %d, %v; want %d, %v", src, text, err, padded, paddedOK)
			}
			var short pk.SortText
			if err := short.Scan(src); err == nil && sortable(short.Int64()) != strings.TrimRight(string(column), " ") {
				t.Fatalf("SortText.Scan(%q) = %d", src, short.Int64())
			}
		}
		if !bytes.Equal(column, before) {
			t.Fatalf("Scan changed the driver's buffer from %q to %q", before, column)
		}
		if err := id.Scan(n); err != nil || id.Int64() != n {
			t.Fatalf("Scan(%d) = %d, %v", n, id, err)
		}
		if err := id.Scan(u); (err == nil) != (u < 1<<63) || err == nil && uint64(id) != u {
			t.Fatalf("Scan(uint64(%d)) = %d, %v", u, id, err)
		}
	})
}

// canonical parses text that spells an int64 the way Go would write it.
func canonical(text string) (int64, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || !n.IsInt64() || n.String() != text {
		return 0, false
	}
	return n.Int64(), true
}
