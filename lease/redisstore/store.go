package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in a Redis or Valkey server. Use [New] to create one; the zero Store
// isn't valid.
//
// A Store is safe for concurrent use.
type Store struct {
	engine
	client redis.UniversalClient
}

type engine = kvlease.Store

var _ lease.Store = (*Store)(nil)

// New returns a store using client, which can be a [*redis.Client] (including those from
// [redis.NewFailoverClient]) or a [*redis.ClusterClient]. Closing the client is up to
// you. The server has to be Valkey, or Redis 5 or later.
func New(client redis.UniversalClient) *Store {
	// Other clients wait while a script adds rows.
	return &Store{kvlease.Store{Backend: backend{client}, AtOnce: 1024}, client}
}

// Migrate only checks that the server will run scripts. Redis doesn't need any tables.
func (s *Store) Migrate(ctx context.Context) error {
	_, _, err := s.Layouts(ctx, "")
	return err
}

// A backend gives package kvlease the fields of hashes.
type backend struct{ client redis.UniversalClient }

// fingerprint is the fingerprint of every server. It may be constant, because no
// fingerprint of Redis changes whenever commits are lost, so each lease holds off anyway.
const fingerprint = "redis"

// key returns the key of a namespace's hash.
func key(namespace string) string { return "snowkey:" + namespace }

// field returns the field of a worker, or that of the namespace.
func field(layout string, worker int64) string {
	if worker == kvlease.OfNamespace {
		return "namespace"
	}
	return layout + "/" + strconv.FormatInt(worker, 10)
}

//go:embed read.lua
var readText string

//go:embed swap.lua
var swapText string

var readScript, swapScript = redis.NewScript(readText), redis.NewScript(swapText)

// Read implements [kvlease.Backend].
func (b backend) Read(ctx context.Context, terms lease.Terms, least, most int64) (v kvlease.View, err error) {
	const few = 64 // more rows are read with all others
	var fields []any
	if most-least < few {
		fields = append(fields, field(terms.Layout, kvlease.OfNamespace))
		for worker := least; worker <= most; worker++ {
			fields = append(fields, field(terms.Layout, worker))
		}
	}
	reply, err := run(ctx, b.client, readScript, key(terms.Namespace), fields...)
	if err != nil {
		return v, err
	}
	list, err := reply.StringSlice()
	values := make(map[string]string)
	for pair := range slices.Chunk(list, 2) {
		values[pair[0]] = pair[len(pair)-1]
	}
	now, invalid := strconv.ParseInt(values["now"], 10, 64)
	if err != nil || invalid != nil {
		return v, errReply
	}
	v = kvlease.View{
		Terms: terms, Now: now, Current: fingerprint, Volatile: true,
		Texts: map[int64]string{kvlease.OfNamespace: values[field(terms.Layout, kvlease.OfNamespace)]},
		Where: func(worker int64) string {
			return fmt.Sprintf("the field %q of the key %q", field(terms.Layout, worker), key(terms.Namespace))
		},
	}
	for name, text := range values {
		number, ok := strings.CutPrefix(name, terms.Layout+"/")
		if worker, err := strconv.ParseInt(number, 10, 64); ok && err == nil {
			v.Texts[worker] = text
		}
	}
	return v, nil
}

// Swap implements [kvlease.Backend].
func (b backend) Swap(ctx context.Context, v kvlease.View, _ bool, texts map[int64]string) (bool, error) {
	var args []any
	for worker, text := range texts {
		args = append(args, field(v.Terms.Layout, worker), v.Texts[worker], text)
	}
	reply, err := run(ctx, b.client, swapScript, key(v.Terms.Namespace), args...)
	if err != nil {
		return false, err
	}
	done, err := reply.Int64()
	if err != nil {
		return false, errReply
	}
	return done == 1, nil
}

// run runs a script. It returns when ctx ends, even if the client has no
// ContextTimeoutEnabled and therefore waits for ReadTimeout.
func run(ctx context.Context, client redis.UniversalClient, script *redis.Script, key string, args ...any) (*redis.Cmd, error) {
	return kvlease.Await(ctx, func() (*redis.Cmd, error) {
		reply := script.Run(ctx, client, []string{key}, args...)
		if err := reply.Err(); err != nil {
			return nil, explain(err)
		}
		return reply, nil
	})
}

var errReply = errors.New("redisstore: the server's reply is not one of the script's; the connection may have mixed up replies, or a proxy changed them")
