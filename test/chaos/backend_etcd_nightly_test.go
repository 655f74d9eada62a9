//go:build nightly && unix

package chaos

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

func init() { backends = append(backends, etcdBackend) }

var etcdBackend = backend{
	name: "etcd",
	open: func(text string, clock func() time.Time) (lease.Store, error) {
		client, err := dialEtcd(strings.Split(text, ",")...)
		if err != nil {
			return nil, err
		}
		return etcdstore.New(client, etcdstore.WithClock(clock)), nil
	},
	start:    startEtcd,
	volatile: true,
}

func dialEtcd(endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 2 * time.Second, Logger: zap.NewNop()})
}

// startEtcd starts a cluster of three members.
func startEtcd(t dbtest.TB) server {
	e := &ensemble{members: cluster.Etcd(t, 3)}
	var addresses []string
	for _, m := range e.members {
		addresses = append(addresses, m.Address)
	}
	client := dbtest.Must(dialEtcd(addresses...))(t)
	t.Cleanup(func() { client.Close() })
	within := func(f func(ctx context.Context) error) error {
		return dbtest.Within(time.Minute, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return f(ctx)
		})
	}
	e.ready = func() error {
		return within(func(ctx context.Context) error { _, err := client.Put(ctx, "ready", ""); return err })
	}
	e.leader = func() (leader *dbtest.Process, err error) {
		err = within(func(ctx context.Context) error {
			for _, m := range e.members {
				if status, err := client.Status(ctx, m.Address); err == nil && status.Leader == status.Header.MemberId {
					leader = m
					return nil
				}
			}
			return errors.New("chaos: the etcd cluster has no leader")
		})
		return leader, err
	}
	// space raises the alarm by which a full member makes the cluster read-only, or clears it.
	space := func(action etcdserverpb.AlarmRequest_AlarmAction) error {
		_, err := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(context.Background(),
			&etcdserverpb.AlarmRequest{Action: action, Alarm: etcdserverpb.AlarmType_NOSPACE})
		return err
	}
	dbtest.NoError(t, e.ready())
	return e.server(
		harm{name: "most members killed -9", begin: func(*network) error {
			return errors.Join(e.members[0].Kill(), e.members[1].Kill())
		}, lasts: time.Second, end: func(*network) error {
			return errors.Join(e.members[0].Start(), e.members[1].Start(), e.ready())
		}},
		harm{name: "the leader stopped, and its clients cut off", begin: func(net *network) error {
			net.cut()
			defer net.heal()
			return e.strike(stopped)
		}, lasts: 2 * time.Second, end: func(*network) error { return e.struck.Signal(syscall.SIGCONT) }},
		harm{name: "compacted", begin: func(*network) error {
			resp, err := client.Get(context.Background(), "x")
			if err == nil {
				_, err = client.Compact(context.Background(), resp.Header.Revision)
			}
			return err
		}},
		// The cluster that starts anew has the same id, which comes from its members' addresses.
		harm{name: "the data of all members deleted", begin: func(*network) error { return e.restart(`rm -rf "$0/member"`) }},
		e.older(func() error { return e.restart(`rm -rf "$0/copy" && cp -a "$0/member" "$0/copy"`) },
			`rm -rf "$0/member" && cp -a "$0/copy" "$0/member"`),
		harm{name: "out of space", begin: func(*network) error {
			return space(etcdserverpb.AlarmRequest_ACTIVATE)
		}, lasts: 3 * time.Second, end: func(*network) error {
			return errors.Join(space(etcdserverpb.AlarmRequest_DEACTIVATE), e.ready())
		}},
	)
}
