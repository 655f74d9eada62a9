package token_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/token"
)

// secret stands for what openssl rand -hex 32 prints.
var secret = strings.Repeat("c0ffee00", 8)

func openPool() *idgen.Pool {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)}) // or snowkey.Open, with a lease
	if err != nil {
		log.Fatal(err)
	}
	return pool
}

// A signer issues a token at the login and verifies it at each request.
func ExampleSigner() {
	ctx, pool := context.Background(), openPool()
	defer pool.Close(ctx)
	keys, err := token.ParseKeys("1:" + secret)
	if err != nil {
		log.Fatal(err)
	}
	signer, err := token.New(token.Config{Keys: keys, IDs: pool, TTL: 8 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	issued, err := signer.Issue(ctx)
	if err != nil {
		log.Fatal(err)
	}
	cookie := issued.Text() // st1_…

	verified, err := signer.Verify(cookie)
	fmt.Println(verified.ID == issued.ID, time.Until(verified.Expires).Round(time.Hour), err)

	_, err = signer.Verify("st1_z" + cookie[5:]) // another id, with the same MAC
	fmt.Println(errors.Is(err, token.ErrInvalid))
	// Output:
	// true 8h0m0s <nil>
	// true
}

// During a rotation, a signer accepts the tokens of two keys.
func ExampleParseKeys_rotation() {
	ctx, pool := context.Background(), openPool()
	defer pool.Close(ctx)
	newSecret := strings.Repeat("5ca1ab1e", 8)
	signerWith := func(text string) *token.Signer {
		keys, err := token.ParseKeys(text)
		if err != nil {
			log.Fatal(err)
		}
		signer, err := token.New(token.Config{Keys: keys, IDs: pool})
		if err != nil {
			log.Fatal(err)
		}
		return signer
	}
	issued, err := signerWith("1:" + secret).Issue(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{
		"1:" + secret + ",2:" + newSecret, // all processes accept key 2 before one signs with it
		"2:" + newSecret + ",1:" + secret,
		"2:" + newSecret, // after Config.TTL
	} {
		_, err := signerWith(text).Verify(issued.Text())
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// token: the token is not valid
}

// Tokens of different purposes can have the same keys.
func ExampleConfig_purpose() {
	ctx, pool := context.Background(), openPool()
	defer pool.Close(ctx)
	keys, err := token.ParseKeys("1:" + secret)
	if err != nil {
		log.Fatal(err)
	}
	sessions, err := token.New(token.Config{Keys: keys, IDs: pool})
	if err != nil {
		log.Fatal(err)
	}
	resets, err := token.New(token.Config{Keys: keys, IDs: pool, Purpose: "password reset", TTL: 15 * time.Minute, Idle: -1})
	if err != nil {
		log.Fatal(err)
	}
	reset, err := resets.Issue(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = sessions.Verify(reset.Text())
	fmt.Println(err)
	// Output: token: the token is not valid
}
