package token_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/token"
)

// FuzzVerify compares Verify with the reference, for texts as they are and with a valid
// MAC.
func FuzzVerify(f *testing.F) {
	b := newBench(f)
	ours, theirs := b.party(key1+","+key2, "session"), b.withReference().party(key1+","+key2, "session")
	signer := theirs.(*reference)
	for _, v := range vectors(f) {
		f.Add(v.Text)
	}
	for _, p := range []party{ours, theirs} {
		text, err := p.issue(time.Hour)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:40] + "\n" + text[41:])
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		compare(t, ours, theirs, text)
		// Most inputs have no valid MAC, so we add one.
		digits := strings.TrimPrefix(text, "st1_")
		if raw, ok := decode(digits[:min(44, len(digits))/4*4]); ok && len(raw) >= 31 {
			body := raw[:31]
			for _, key := range []byte{1, 2} {
				body[30] = key
				compare(t, ours, theirs, "st1_"+encode(append(body[:31:31], signer.mac(signer.secret(key), body)...)))
			}
		}
	})
}

func compare(t *testing.T, ours, theirs party, text string) {
	t.Helper()
	id, expires, err := ours.verify(text)
	wantID, wantExpires, want := theirs.verify(text)
	if id != wantID || !expires.Equal(wantExpires) || err != want {
		t.Fatalf("Verify(%q) = %d, %v, %v; the reference says %d, %v, %v", text, id, expires, err, wantID, wantExpires, want)
	}
	if err != nil && err != token.ErrInvalid && err != token.ErrExpired {
		t.Fatalf("Verify(%q): %v", text, err)
	}
}

// FuzzParseKeys checks that no error shows more than a few characters of the text.
func FuzzParseKeys(f *testing.F) {
	for _, text := range []string{"", key1, key1 + "," + key2, key1 + "," + other, "1:xyz", strings.Repeat("1:ab,", 20)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := token.ParseKeys(text)
		if err != nil {
			for i := range max(0, len(text)-8) {
				if strings.Contains(err.Error(), text[i:i+8]) && !strings.Contains("rand -hex 32 to 64", text[i:i+8]) {
					t.Fatalf("ParseKeys(%q): the error shows a part of the text: %v", text, err)
				}
			}
			return
		}
		if _, err := token.New(token.Config{Keys: keys}); err != nil {
			t.Fatalf("ParseKeys(%q) is accepted, but New returns %v", text, err)
		}
	})
}
