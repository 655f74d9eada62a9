package token_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/token"
)

// A vector is a row of testdata/vectors.json.
type vector struct {
	Name, Secret, Purpose, ID, Random, Text, Hash string
	Key                                           int
	Expires                                       int64
}

func vectors(t testing.TB) (rows []vector) {
	t.Helper()
	content, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(content, &rows)
	}
	if err != nil || len(rows) < 8 {
		t.Fatalf("%d vectors, %v", len(rows), err)
	}
	return rows
}

func mustKeys(t testing.TB, text string) token.Keys {
	t.Helper()
	return errtest.Must(token.ParseKeys(text))(t)
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			signer := errtest.Must(token.New(token.Config{
				Keys: mustKeys(t, fmt.Sprintf("%d:%s", v.Key, v.Secret)), Purpose: v.Purpose, Clock: func() time.Time { return start },
			}))(t)
			got := errtest.Must(signer.Verify(v.Text))(t)
			if strconv.FormatInt(got.ID, 10) != v.ID || got.Expires.UnixMilli() != v.Expires || got.Text() != v.Text || got.Hash() != v.Hash {
				t.Errorf("got %v with the hash %s", got, got.Hash())
			}
			// The tokens of this package must have the bytes of the vectors, apart from the
			// random ones. The properties show that it accepts what it issues.
			if raw, err := digits.DecodeString(v.Text[4:]); err != nil || fmt.Sprintf("%x", raw[8:24]) != v.Random {
				t.Error("the test decodes the vector to other bytes")
			}
		})
	}
}

// TestNothingShowsTheSecret prints tokens and keys in each way that a program might.
func TestNothingShowsTheSecret(t *testing.T) {
	b := newBench(t)
	keys := mustKeys(t, key1+","+key2)
	cfg := token.Config{Keys: keys, IDs: b.ids}
	signer := errtest.Must(token.New(cfg))(t)
	issued := errtest.Must(signer.Issue(t.Context()))(t)
	raw, _ := digits.DecodeString(issued.Text()[4:])
	_, secret, _ := strings.Cut(key1, ":")
	secrets := []string{issued.Text(), issued.Text()[50:], fmt.Sprintf("%x", raw[8:24]), fmt.Sprintf("%X", raw[8:24]), fmt.Sprint(raw[8:24]),
		secret, strings.ToUpper(secret), fmt.Sprint([]byte(secret)), "1 35 69 103 137 171 205 239"}

	exported := struct {
		Token  token.Token
		Keys   token.Keys
		Config *token.Config
	}{issued, keys, &cfg}
	unexported := struct {
		token  token.Token
		keys   token.Keys
		config token.Config
	}{issued, keys, cfg}
	for _, value := range []any{issued, &issued, keys, &keys, cfg, &cfg, *signer, exported, &exported, unexported, &unexported, []any{issued, keys}, map[string]any{"a": issued, "b": keys}} {
		var printed strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&printed, verb+"\n", value)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&printed, nil), slog.NewJSONHandler(&printed, nil)} {
			slog.New(handler).Info("test", "value", value, slog.Group("group", "value", value))
		}
		if text, err := json.Marshal(value); err == nil {
			printed.Write(text)
		}
		printed.WriteString(fmt.Sprint(errors.Join(fmt.Errorf("request of %v failed", value))))
		for _, s := range secrets {
			if strings.Contains(printed.String(), s) {
				t.Errorf("printing %T shows %q:\n%s", value, s, &printed)
			}
		}
	}
	want := fmt.Sprintf("token %d (expires %s)", issued.ID, issued.Expires.Format(time.RFC3339))
	if got := fmt.Sprintf("%v|%#v|%v|%#v|%v", issued, issued, keys, keys, keys.LogValue()); got != want+"|"+want+"|keys 1, 2|keys 1, 2|keys 1, 2" {
		t.Errorf("they are printed as %s", got)
	}
}

func TestKeys(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for text, want := range map[string]string{
		"":                               "no id from 1 to 255 in key 1",
		secret:                           "no id from 1 to 255 in key 1",
		"0:" + secret:                    "no id from 1 to 255 in key 1",
		"256:" + secret:                  "no id from 1 to 255 in key 1",
		"-1:" + secret:                   "no id from 1 to 255 in key 1",
		"1:" + secret + ",":              "no id from 1 to 255 in key 2",
		"1:" + secret + ";2:" + secret:   "secret of key 1 that is not hex",
		"1:" + secret + "0":              "secret of key 1 that is not hex",
		"1:":                             "secret of key 1 with 0 bytes",
		"1:" + secret[2:]:                "secret of key 1 with 31 bytes",
		"1:" + secret + secret + "00":    "secret of key 1 with 65 bytes",
		"1:" + secret + ",1:ff" + secret: "key 1 twice",
		"1:" + secret + ",2:" + secret:   "the same secret in key 2",
	} {
		keys, err := token.ParseKeys(text)
		if err == nil || !strings.HasPrefix(err.Error(), "token: Config.Keys ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), "abcdef") {
			t.Errorf("the error has the secret: %v", err)
		}
		if keys.String() != "keys " {
			t.Errorf("%q: %v", text, keys)
		}
	}
	for _, text := range []string{"255:" + secret, " 1:" + secret + ",\n 2:" + secret + secret + " ", "1:" + strings.ToUpper(secret)} {
		if _, err := token.ParseKeys(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestConfig(t *testing.T) {
	keys := mustKeys(t, key1)
	for _, tt := range []struct {
		cfg   token.Config
		field string
	}{
		{token.Config{}, "Keys"},
		{token.Config{Keys: keys, Purpose: strings.Repeat("x", 256)}, "Purpose"},
		{token.Config{Keys: keys, TTL: time.Second - 1}, "TTL"},
		{token.Config{Keys: keys, TTL: -time.Hour}, "TTL"},
		{token.Config{Keys: keys, Idle: 13 * time.Hour}, "Idle"},
		{token.Config{Keys: keys, TTL: time.Minute, Idle: time.Minute + 1}, "Idle"},
		{token.Config{Keys: keys, Idle: time.Second - 1}, "Idle"},
	} {
		_, err := token.New(tt.cfg)
		if err == nil || !strings.HasPrefix(err.Error(), "token: Config."+tt.field+" ") {
			t.Errorf("%+v: %v, want an error about %s", tt.cfg, err, tt.field)
		}
	}
	b := newBench(t)
	for _, tt := range []struct{ ttl, idle, wantTTL, wantIdle time.Duration }{
		{0, 0, 12 * time.Hour, 30 * time.Minute},
		{time.Minute, 0, time.Minute, time.Minute},
		{0, -1, 12 * time.Hour, 0},
		{0, time.Hour, 12 * time.Hour, time.Hour},
	} {
		signer := errtest.Must(token.New(token.Config{Keys: keys, TTL: tt.ttl, Idle: tt.idle, IDs: b.ids, Clock: b.clock}))(t)
		issued, err := signer.Issue(t.Context())
		if err != nil || issued.Expires.Sub(start) != tt.wantTTL || issued.Idle != tt.wantIdle || !issued.Seen.Equal(start) {
			t.Errorf("TTL %v and Idle %v: the token has %+v, %v", tt.ttl, tt.idle, issued, err)
		}
	}
}

// TestWithoutAPool checks what works in a process that issues no tokens.
func TestWithoutAPool(t *testing.T) {
	b := newBench(t)
	_, text := b.issue()
	signer := errtest.Must(token.New(token.Config{Keys: mustKeys(t, key1), Clock: b.clock}))(t)
	if _, err := signer.Verify(text); err != nil {
		t.Errorf("Verify needs a pool: %v", err)
	}
	if issued, err := signer.Issue(t.Context()); !errors.Is(err, idgen.ErrNoPool) || issued.Text() != "" {
		t.Errorf("Issue returns %v, %v", issued, err)
	}
	idgen.SetDefault(b.ids)
	defer idgen.SetDefault(nil)
	if _, err := signer.Issue(t.Context()); err != nil {
		t.Errorf("with a default pool: %v", err)
	}
}

// TestTime lets two days pass with the system clock.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins in 2000
		pool := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(2)}))(t)
		defer pool.Close(context.Background())
		signer := errtest.Must(token.New(token.Config{Keys: mustKeys(t, key1), IDs: pool, TTL: 24 * time.Hour}))(t)
		issued := errtest.Must(signer.Issue(t.Context()))(t)
		time.Sleep(24*time.Hour - time.Millisecond)
		verified, err := signer.Verify(issued.Text())
		if err != nil || verified.ID != issued.ID || !verified.Expires.Equal(issued.Expires) || verified.Seen.Sub(issued.Seen) != 24*time.Hour-time.Millisecond {
			t.Errorf("just before it expires, the token is %v, %v", verified, err)
		}
		time.Sleep(time.Millisecond)
		if _, err := signer.Verify(issued.Text()); err != token.ErrExpired {
			t.Errorf("when it expires: %v", err)
		}
		if age := time.Since(pool.Layout().Decode(verified.ID).Time); age != 24*time.Hour {
			t.Errorf("by its id, the session began %v ago", age)
		}
	})
}

func TestZeroToken(t *testing.T) {
	var zero token.Token
	if zero.Claim() || zero.Text() != "" || zero.String() != "token 0 (expires 0001-01-01T00:00:00Z)" {
		t.Errorf("the zero token is %q, %v", zero.Text(), zero)
	}
}
