package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/snowkey-go/snowkey/token"
)

// tokens measures the cost of signing and verifying a session token beside a JWT that
// contains the same: an id, random bits and an expiry, signed with HMAC-SHA-256.
func tokens(p *pools) (topic, error) {
	secret := []byte(strings.Repeat("0123456789abcdef", 2))
	keys, err := token.ParseKeys(fmt.Sprintf("1:%x", secret))
	if err != nil {
		return topic{}, err
	}
	signer, err := token.New(token.Config{Keys: keys, IDs: p.room})
	if err != nil {
		return topic{}, err
	}
	issued, err := signer.Issue(context.Background())
	if err != nil {
		return topic{}, err
	}
	signed, err := signJWT(secret)
	if err != nil {
		return topic{}, err
	}
	t := topic{
		name:  "Tokens",
		title: "A session token, alone and on all cores, beside a JWT (HS256)",
		note: fmt.Sprintf("A token has %d characters, and the JWT %d with its two claims, jti and exp. Neither asks a store.",
			len(issued.Text()), len(signed)),
	}
	for _, w := range []struct {
		name         string
		jwt, snowkey workload
	}{
		{"sign", signsJWT(secret), signs(signer)},
		{"verify", verifiesJWT(secret, signed), verifies(signer, issued.Text())},
	} {
		for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
			t.trials = append(t.trials, trial{
				name:      "golang-jwt/jwt, " + w.name + ", " + crowd(goroutines),
				work:      w.jwt.among(goroutines),
				against:   "snowkey/token",
				yardstick: w.snowkey.among(goroutines),
				pace:      pace{turn: 5 * time.Millisecond},
				peer:      itsWork,
			})
		}
	}
	return t, nil
}

func signs(signer *token.Signer) workload {
	return func(n int) error {
		for range n {
			if _, err := signer.Issue(context.Background()); err != nil {
				return err
			}
		}
		return nil
	}
}

func verifies(signer *token.Signer, text string) workload {
	return func(n int) error {
		for range n {
			if _, err := signer.Verify(text); err != nil {
				return err
			}
		}
		return nil
	}
}

func signJWT(secret []byte) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		ID: rand.Text(), ExpiresAt: jwt.NewNumericDate(time.Now().Add(12 * time.Hour)),
	}).SignedString(secret)
}

func signsJWT(secret []byte) workload {
	return func(n int) error {
		for range n {
			if _, err := signJWT(secret); err != nil {
				return err
			}
		}
		return nil
	}
}

func verifiesJWT(secret []byte, text string) workload {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	key := func(*jwt.Token) (any, error) { return secret, nil }
	return func(n int) error {
		for range n {
			var claims jwt.RegisteredClaims
			if _, err := parser.ParseWithClaims(text, &claims, key); err != nil {
				return err
			}
		}
		return nil
	}
}
