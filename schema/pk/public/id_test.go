package public

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type (
	user struct{ ID ID[user] }
	post struct {
		ID     ID[post]
		Author ID[user]
	}
)

func (user) Prefix() string { return "user" }
func (post) Prefix() string { return "post" }

// useCodec makes a codec the default until the test ends.
func useCodec(t *testing.T) *Codec {
	c := mustNew(t, Key{'A', secret(1)})
	SetDefault(c)
	t.Cleanup(func() { SetDefault(nil) })
	return c
}

func TestID(t *testing.T) {
	c := useCodec(t)
	for _, n := range []int64{0, 1, -1, low, high, math.MaxInt64, math.MinInt64} {
		id := ID[user](n)
		text := errtest.Must(c.Encode("user", n))(t)
		var gql bytes.Buffer
		id.MarshalGQL(&gql)
		marshaled, err := id.MarshalText()
		appended, _ := id.AppendText([]byte("id="))
		object, err2 := json.Marshal(id)
		for what, got := range map[string]string{
			"String": id.String(), "MarshalText": string(marshaled), "MarshalJSON": strings.Trim(string(object), `"`),
			"MarshalGQL": strings.Trim(gql.String(), `"`), "LogValue": id.LogValue().String(), "fmt": fmt.Sprintf("%v", id),
		} {
			if got != text {
				t.Errorf("%s of %d is %q, want %q", what, n, got, text)
			}
		}
		value, err3 := id.Value()
		if err != nil || err2 != nil || err3 != nil || string(appended) != "id="+text || value != n || id.Int64() != n || id.ID() != pk.ID(n) || id.IsZero() != (n == 0) {
			t.Errorf("%d: %v, %v, %v, %s, %v", n, err, err2, err3, appended, value)
		}
		for what, read := range map[string]func(*ID[user]) error{
			"UnmarshalText":     func(p *ID[user]) error { return p.UnmarshalText([]byte(text)) },
			"UnmarshalParam":    func(p *ID[user]) error { return p.UnmarshalParam(text) },
			"UnmarshalJSON":     func(p *ID[user]) error { return json.Unmarshal(object, p) },
			"UnmarshalGQL":      func(p *ID[user]) error { return p.UnmarshalGQL(text) },
			"UnmarshalGQL own":  func(p *ID[user]) error { return p.UnmarshalGQL(id) },
			"UnmarshalGQL *own": func(p *ID[user]) error { return p.UnmarshalGQL(&id) },
			"ParseID":           func(p *ID[user]) (err error) { *p, err = ParseID[user](text); return err },
			"Scan(int64)":       func(p *ID[user]) error { return p.Scan(n) },
			"Scan([]byte)":      func(p *ID[user]) error { return p.Scan(fmt.Appendf(nil, "%d", n)) },
			"Scan(pk.ID)":       func(p *ID[user]) error { return p.Scan(pk.ID(n)) },
			"Scan(own)":         func(p *ID[user]) error { return p.Scan(id) },
			"Scan(*own)":        func(p *ID[user]) error { return p.Scan(&id) },
		} {
			got := ID[user](5)
			if err := read(&got); err != nil || got != id {
				t.Errorf("%s of %d = %d, %v", what, n, got.Int64(), err)
			}
		}
	}
	if got := ID[user](1).GormDataType(); got != "bigint" {
		t.Errorf("GormDataType = %q", got)
	}
}

func TestIDRefuses(t *testing.T) {
	useCodec(t)
	refuses := func(what string, read func(*ID[user]) error) {
		t.Helper()
		got := ID[user](5)
		mustRefuse(t, what, read(&got))
		if got != 5 {
			t.Errorf("%s was refused and left %d", what, got.Int64())
		}
	}
	good, other := ID[user](high).String(), ID[post](high).String()
	for _, text := range []string{"", "5", "1234567890123456789", good[1:], good + "0", " " + good, "a" + good[1:], other, "null", strings.Repeat("A", 1<<20), "\xff"} {
		quoted, _ := json.Marshal(text)
		refuses(fmt.Sprintf("UnmarshalText(%.30q)", text), func(p *ID[user]) error { return p.UnmarshalText([]byte(text)) })
		refuses(fmt.Sprintf("UnmarshalParam(%.30q)", text), func(p *ID[user]) error { return p.UnmarshalParam(text) })
		refuses(fmt.Sprintf("json.Unmarshal of %.30q", text), func(p *ID[user]) error { return json.Unmarshal(quoted, p) })
		refuses(fmt.Sprintf("UnmarshalGQL(%.30q)", text), func(p *ID[user]) error { return p.UnmarshalGQL(text) })
	}
	// A number must not be a way around the codec.
	for _, in := range []string{`5`, `1234567890123456789`, `-1`, `true`, `{}`, `[]`, `1.5`, `"A\u0041"`} {
		refuses("json.Unmarshal of "+in, func(p *ID[user]) error { return json.Unmarshal([]byte(in), p) })
	}
	for _, v := range []any{5, int64(5), json.Number("5"), 5.0, true, []any{}, pk.ID(5), ID[post](5)} {
		refuses(fmt.Sprintf("UnmarshalGQL(%T)", v), func(p *ID[user]) error { return p.UnmarshalGQL(v) })
	}
	for _, src := range []any{1.5, true, "x", good, []byte(good), ID[post](5), uint64(1 << 63), struct{}{}} {
		got := ID[user](5)
		err := got.Scan(src)
		if refused, ok := errors.AsType[*pk.Error](err); !ok || refused.Type != "public.ID[public.user]" || got != 5 {
			t.Errorf("Scan(%T) = %d, %v", src, got.Int64(), err)
		}
	}
}

func mustRefuse(t *testing.T, what string, err error) {
	t.Helper()
	if refused, ok := errors.AsType[*Error](err); !ok || refused.Entity != "user" || refused.Value == "" || len(err.Error()) > 300 {
		t.Errorf("%s: got error %v, want a short *Error", what, err)
	}
}

func TestIDNull(t *testing.T) {
	useCodec(t)
	id := ID[user](5)
	for what, err := range map[string]error{
		"JSON null": json.Unmarshal([]byte("null"), &id), "GraphQL null": id.UnmarshalGQL(nil), "GraphQL nil pointer": id.UnmarshalGQL((*ID[user])(nil)),
	} {
		if err != nil || id != 5 {
			t.Errorf("%s: %d, %v, want no change", what, id.Int64(), err)
		}
	}
	for _, null := range []any{nil, (*ID[user])(nil), (*pk.ID)(nil)} {
		id = 5
		if err := id.Scan(null); err != nil || id != 0 {
			t.Errorf("Scan(%T) = %d, %v, want 0", null, id.Int64(), err)
		}
	}
}

// Without a codec, ids are neither written nor read, and the number doesn't get out.
func TestIDWithoutCodec(t *testing.T) {
	t.Cleanup(func() { SetDefault(nil) })
	for _, none := range []*Codec{nil, {}} {
		SetDefault(none)
		testIDWithoutCodec(t)
	}
}

func testIDWithoutCodec(t *testing.T) {
	id := ID[user](high)
	_, err := id.MarshalText()
	_, err2 := json.Marshal(post{Author: id})
	_, err3 := ParseID[user]("A5bIqmcQzxo1tdmBS9iDJi2")
	for _, err := range []error{err, err2, err3, id.UnmarshalText(nil), id.UnmarshalParam("x"), id.UnmarshalGQL("x"), json.Unmarshal([]byte(`"x"`), &id)} {
		if !errors.Is(err, ErrNoCodec) {
			t.Errorf("got error %v, want ErrNoCodec", err)
		}
	}
	var gql bytes.Buffer
	id.MarshalGQL(&gql)
	if gql.String() != "null" {
		t.Errorf("MarshalGQL wrote %s", &gql)
	}
	for _, text := range []string{id.String(), fmt.Sprint(id), id.LogValue().String()} {
		if !strings.Contains(text, "no codec") || strings.Contains(text, "1234567890") {
			t.Errorf("text is %q", text)
		}
	}
	// The database doesn't need one.
	if v, err := id.Value(); err != nil || v != int64(high) || id.Scan(int64(low)) != nil || id != low {
		t.Errorf("Value = %v, %v; Scan = %d", v, err, id.Int64())
	}
}
