//go:build nightly && unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

func init() { backends = append(backends, redisBackend) }

var redisBackend = backend{
	name: "redis",
	open: func(text string, _ func() time.Time) (lease.Store, error) {
		return redisstore.New(redis.NewClient(&redis.Options{Addr: text})), nil
	},
	start:    startRedis,
	volatile: true,
}

// A redisPair is a primary with a replica. A failover swaps the two.
type redisPair struct{ primary, replica *dbtest.Process }

func startRedis(t dbtest.TB) server {
	kind := dbtest.Redis("--appendonly", "yes", "--appendfsync", "everysec", "--repl-diskless-sync-delay", "0")
	p := &redisPair{kind.StartClocked(t), kind.StartClocked(t)}
	dbtest.NoError(t, p.follow())
	return p.server()
}

// leave makes the replica lag: it gets nothing from now on.
func (p *redisPair) leave() error { return tellRedis(p.replica.Address, "REPLICAOF NO ONE") }

// promote kills the primary, and puts the replica in its place.
func (p *redisPair) promote(net *network) error {
	err := p.primary.Kill()
	p.primary, p.replica = p.replica, p.primary
	net.lead(p.primary.Address)
	return err
}

func (p *redisPair) server() server {
	const lag = 700 * time.Millisecond // what the failovers lose
	return server{
		text: p.primary.Address, addresses: []string{p.primary.Address},
		kill: func() error { return p.primary.Kill() }, start: func() error { return p.primary.Start() },
		stop:   func() error { return p.primary.Signal(syscall.SIGSTOP) },
		resume: func() error { return p.primary.Signal(syscall.SIGCONT) },
		setClock: func(ahead time.Duration) error {
			return errors.Join(p.primary.SetClock(ahead), p.replica.SetClock(ahead))
		},
		more: []harm{
			{name: "failover to a replica that lacks commits", begin: func(net *network) error {
				if err := p.leave(); err != nil {
					return err
				}
				time.Sleep(lag)
				return p.promote(net)
			}, lasts: 100 * time.Millisecond, end: func(*network) error {
				return errors.Join(p.replica.Start(), p.follow())
			}},
			{name: "killed -9, append-only file off before", begin: func(*network) error {
				// After the restart, the server has what the file had.
				if err := tellRedis(p.primary.Address, "CONFIG SET appendonly no"); err != nil {
					return err
				}
				time.Sleep(lag)
				return errors.Join(p.primary.Kill(), p.primary.Start())
			}},
			{name: "killed -9 with appendfsync always", begin: p.killWith("always")},
			{name: "killed -9 with appendfsync no", begin: p.killWith("no")},
			{name: "FLUSHALL", begin: func(*network) error { return tellRedis(p.primary.Address, "FLUSHALL") }},
		},
	}
}

func (p *redisPair) killWith(appendfsync string) func(*network) error {
	return func(*network) error {
		if err := tellRedis(p.primary.Address, "CONFIG SET appendfsync "+appendfsync); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond)
		return errors.Join(p.primary.Kill(), p.primary.Start())
	}
}

// follow makes the replica follow the primary, and waits until it has all data.
func (p *redisPair) follow() error {
	if err := tellRedis(p.replica.Address, "REPLICAOF "+strings.Replace(p.primary.Address, ":", " ", 1)); err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: p.replica.Address})
	defer client.Close()
	return dbtest.Within(time.Minute, func() error {
		info, err := client.Info(context.Background(), "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = fmt.Errorf("chaos: the replica does not follow:\n%s", info)
		}
		return err
	})
}

// tellRedis sends a command whose parts contain no spaces.
func tellRedis(address, command string) error {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	var args []any
	for part := range strings.FieldsSeq(command) {
		args = append(args, part)
	}
	if err := client.Do(context.Background(), args...).Err(); err != nil {
		return fmt.Errorf("chaos: %s: %w", command, err)
	}
	return nil
}
