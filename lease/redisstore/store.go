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

// rowOf returns the layout and the worker of a row's field.
func rowOf(field string) (layout string, worker int64, ok bool) {
	i := strings.LastIndexByte(field, '/')
	worker, err := strconv.ParseInt(field[i+1:], 10, 64)
	return field[:max(i, 0)], worker, i >= 0 && err == nil
}

//go:embed read.lua
var readText string

//go:embed swap.lua
var swapText string

var readScript, swapScript = redis.NewScript(readText), redis.NewScript(swapText)

// Layouts implements [kvlease.Backend].
func (b backend) Layouts(ctx context.Context, namespace string) (layouts []string, err error) {
	_, values, err := b.read(ctx, namespace, nil)
	for field := range values {
		if layout, _, ok := rowOf(field); ok {
			layouts = append(layouts, layout)
		}
	}
	return layouts, err
}

// Read implements [kvlease.Backend].
func (b backend) Read(ctx context.Context, terms lease.Terms, least, most int64) (kvlease.View, error) {
	const few = 64 // more rows are read with all others
	var fields []string
	if most-least < few {
		fields = append(fields, field("", kvlease.OfNamespace))
		for worker := least; worker <= most; worker++ {
			fields = append(fields, field(terms.Layout, worker))
		}
	}
	now, values, err := b.read(ctx, terms.Namespace, fields)
	if err != nil {
		return kvlease.View{}, err
	}
	item := func(worker int64) kvlease.Item {
		name := field(terms.Layout, worker)
		return kvlease.Item{Worker: worker, Value: values[name], Where: fmt.Sprintf("the field %q of the key %q", name, key(terms.Namespace))}
	}
	v := kvlease.View{Terms: terms, Now: now, Current: fingerprint, Volatile: true, Namespace: item(kvlease.OfNamespace)}
	for name := range values {
		if layout, worker, ok := rowOf(name); ok && layout == terms.Layout && least <= worker && worker <= most {
			v.Rows = append(v.Rows, item(worker))
		}
	}
	slices.SortFunc(v.Rows, func(a, b kvlease.Item) int { return int(a.Worker - b.Worker) })
	return v, nil
}

// read returns the server's time, and fields of a namespace that exist, or all of them.
func (b backend) read(ctx context.Context, namespace string, fields []string) (now int64, values map[string]string, err error) {
	args := make([]any, len(fields))
	for i, name := range fields {
		args[i] = name
	}
	reply, err := run(ctx, b.client, readScript, key(namespace), args...)
	if err != nil {
		return 0, nil, err
	}
	list, err := reply.StringSlice()
	if err != nil || len(list) < 2 || len(list)%2 != 0 {
		return 0, nil, errReply
	}
	seconds, err1 := strconv.ParseInt(list[0], 10, 64)
	micros, err2 := strconv.ParseInt(list[1], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, nil, errReply
	}
	values = make(map[string]string)
	for pair := range slices.Chunk(list[2:], 2) {
		values[pair[0]] = pair[1]
	}
	return seconds*1e6 + micros, values, nil
}

// Swap implements [kvlease.Backend].
func (b backend) Swap(ctx context.Context, v kvlease.View, _ bool, changes ...kvlease.Change) (bool, error) {
	var args []any
	for _, c := range changes {
		args = append(args, field(v.Terms.Layout, c.Worker), c.Value, c.New)
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
