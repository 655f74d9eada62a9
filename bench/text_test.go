package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	hashids "github.com/speps/go-hashids/v2"
	"github.com/sqids/sqids-go"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
	"github.com/snowkey-go/snowkey/token"
)

const number = 1<<62 + 1 // 19 digits

// work is something that is done over and over, and the name of who does it.
type work struct {
	by string
	do func() error
}

// compare benchmarks the same work as it is done by several libraries.
func compare(b *testing.B, name string, list ...work) {
	for _, w := range list {
		b.Run(name+"/by="+w.by, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dbtest.NoError(b, w.do())
			}
		})
	}
}

// BenchmarkText writes and reads a key as text and as JSON, beside the standard library
// with a plain number and the peers with their own keys.
func BenchmarkText(b *testing.B) {
	var (
		out                []byte
		back               int64
		id, short, flake   = pk.ID(number), pk.SortText(number), snowflake.ID(number)
		xidID, ulidID      = xid.New(), ulid.Make()
		uuidID             = uuid.New()
		text, quoted       = []byte(id.String()), []byte(strconv.Quote(id.String()))
		shortText          = []byte(short.String())
		shortQuoted        = []byte(strconv.Quote(short.String()))
		xidQuoted          = []byte(strconv.Quote(xidID.String()))
		ulidText, uuidText = []byte(ulidID.String()), []byte(uuidID.String())
	)
	marshal := func(f func() ([]byte, error)) func() error {
		return func() (err error) { out, err = f(); return err }
	}
	unmarshal := func(f func([]byte) error, text []byte) func() error {
		return func() error { return f(text) }
	}
	compare(b, "op=MarshalJSON",
		work{"strconv", func() error {
			out = append(strconv.AppendInt(append(make([]byte, 0, 24), '"'), number, 10), '"')
			return nil
		}},
		work{"snowkey", marshal(id.MarshalJSON)},
		work{"snowkey-SortText", marshal(short.MarshalJSON)},
		work{"bwmarrin", marshal(flake.MarshalJSON)},
		work{"xid", marshal(xidID.MarshalJSON)},
	)
	compare(b, "op=UnmarshalJSON",
		work{"strconv", func() (err error) {
			back, err = strconv.ParseInt(string(quoted[1:len(quoted)-1]), 10, 64)
			return err
		}},
		work{"snowkey", unmarshal(id.UnmarshalJSON, quoted)},
		work{"snowkey-SortText", unmarshal(short.UnmarshalJSON, shortQuoted)},
		work{"bwmarrin", unmarshal(flake.UnmarshalJSON, quoted)},
		work{"xid", unmarshal(xidID.UnmarshalJSON, xidQuoted)},
	)
	compare(b, "op=MarshalText",
		work{"strconv", func() error { out = strconv.AppendInt(make([]byte, 0, 24), number, 10); return nil }},
		work{"snowkey", marshal(id.MarshalText)},
		work{"snowkey-SortText", marshal(short.MarshalText)},
		work{"ulid", marshal(ulidID.MarshalText)},
		work{"google-uuid", marshal(uuidID.MarshalText)},
	)
	compare(b, "op=UnmarshalText",
		work{"strconv", func() (err error) { back, err = strconv.ParseInt(string(text), 10, 64); return err }},
		work{"snowkey", unmarshal(id.UnmarshalText, text)},
		work{"snowkey-SortText", unmarshal(short.UnmarshalText, shortText)},
		work{"ulid", unmarshal(ulidID.UnmarshalText, ulidText)},
		work{"google-uuid", unmarshal(uuidID.UnmarshalText, uuidText)},
	)
	_, _ = out, back
}

// BenchmarkPublicID hides an id. Public ids are encrypted and can't be forged, whereas
// Sqids and Hashids can be undone by anyone who knows the alphabet or salt.
func BenchmarkPublicID(b *testing.B) {
	codec := dbtest.Must(public.New(public.Key{Version: 'A', Secret: bytes.Repeat([]byte("ab"), 16)}))(b)
	squid := dbtest.Must(sqids.New())(b)
	hash := dbtest.Must(hashids.NewWithData(&hashids.HashIDData{Alphabet: hashids.DefaultAlphabet, Salt: "a salt that nobody knows"}))(b)
	ours := dbtest.Must(codec.Encode("user", number))(b)
	sqid := dbtest.Must(squid.Encode([]uint64{number}))(b)
	hashed := dbtest.Must(hash.EncodeInt64([]int64{number}))(b)
	compare(b, "op=encode",
		work{"snowkey", func() error { _, err := codec.Encode("user", number); return err }},
		work{"sqids", func() error { _, err := squid.Encode([]uint64{number}); return err }},
		work{"hashids", func() error { _, err := hash.EncodeInt64([]int64{number}); return err }},
	)
	compare(b, "op=decode",
		work{"snowkey", func() error { _, err := codec.Decode("user", ours); return err }},
		work{"sqids", func() error { squid.Decode(sqid); return nil }},
		work{"hashids", func() error { _, err := hash.DecodeInt64WithError(hashed); return err }},
	)
}

// BenchmarkToken signs and verifies a session token, beside a JWT with the same content:
// an id, random bits and an expiry, signed with HMAC-SHA-256.
func BenchmarkToken(b *testing.B) {
	secret := []byte(strings.Repeat("0123456789abcdef", 2))
	signer := dbtest.Must(token.New(token.Config{Keys: dbtest.Must(token.ParseKeys(fmt.Sprintf("1:%x", secret)))(b), IDs: room}))(b)
	issued := dbtest.Must(signer.Issue(b.Context()))(b).Text()
	sign := func() (string, error) {
		return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
			ID: rand.Text(), ExpiresAt: jwt.NewNumericDate(time.Now().Add(12 * time.Hour)),
		}).SignedString(secret)
	}
	signed := dbtest.Must(sign())(b)
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	compare(b, "op=sign",
		work{"snowkey", func() error { _, err := signer.Issue(b.Context()); return err }},
		work{"jwt", func() error { _, err := sign(); return err }},
	)
	compare(b, "op=verify",
		work{"snowkey", func() error { _, err := signer.Verify(issued); return err }},
		work{"jwt", func() error {
			var claims jwt.RegisteredClaims
			_, err := parser.ParseWithClaims(signed, &claims, func(*jwt.Token) (any, error) { return secret, nil })
			return err
		}},
	)
}
