package redisstore

import (
	"context"
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

//go:embed scripts
var scripts embed.FS

// Each of these is one operation, which the server executes in one step.
var (
	claimScript   = load("claim")
	renewScript   = load("renew")
	releaseScript = load("release")
	createScript  = load("create")
	fenceScript   = load("fence")
	addScript     = load("add")
	rowsScript    = load("rows")
	layoutsScript = load("layouts")
)

func load(name string) *redis.Script {
	var text strings.Builder
	for _, file := range []string{"lib", name} {
		part, err := scripts.ReadFile("scripts/" + file + ".lua")
		if err != nil {
			panic(err) // the file is embedded
		}
		text.Write(part)
	}
	return redis.NewScript(text.String())
}

// write runs a script that writes. Its first argument is the protocol version.
func (s *Store) write(ctx context.Context, script *redis.Script, t lease.Terms, args ...any) (any, error) {
	return run[any](ctx, s, script, keys(t.Namespace, t.Layout), append([]any{protocol.Known()}, args...)...)
}

// run runs a script. It returns when ctx ends, even if the client has no
// ContextTimeoutEnabled and therefore waits for ReadTimeout.
func run[T any](ctx context.Context, s *Store, script *redis.Script, keys []string, args ...any) (reply T, err error) {
	if s == nil || s.client == nil {
		return reply, errNoClient
	}
	if err := ctx.Err(); err != nil {
		return reply, err
	}
	type result struct {
		reply any
		err   error
	}
	done := make(chan result, 1)
	go func() {
		reply, err := script.Run(ctx, s.client, keys, args...).Result()
		done <- result{reply, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return reply, explain(r.err, keys)
		}
		reply, ok := r.reply.(T)
		if !ok {
			return reply, errReply
		}
		return reply, nil
	case <-ctx.Done():
		return reply, ctx.Err()
	}
}
