//go:build nightly && unix

package chaos

import (
	"context"
	"errors"
	"os/exec"
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

// An etcdCluster has three members. Faults happen to the leader.
type etcdCluster struct {
	members []*dbtest.Process
	client  *clientv3.Client
	struck  *dbtest.Process // the member that was killed or stopped last
}

func startEtcd(t dbtest.TB) server {
	c := &etcdCluster{members: cluster.Etcd(t, 3)}
	var addresses []string
	for _, m := range c.members {
		addresses = append(addresses, m.Address)
	}
	c.client = dbtest.Must(dialEtcd(addresses...))(t)
	t.Cleanup(func() { c.client.Close() })
	dbtest.NoError(t, c.ready())
	return server{
		text: strings.Join(addresses, ","), addresses: addresses,
		kill:   func() error { return c.strike((*dbtest.Process).Kill) },
		start:  func() error { return errors.Join(c.struck.Start(), c.ready()) },
		stop:   func() error { return c.strike(stopEtcd) },
		resume: func() error { return errors.Join(c.struck.Signal(syscall.SIGCONT), c.ready()) },
		more: []harm{
			{name: "most members killed -9", begin: func(*network) error {
				return errors.Join(c.members[0].Kill(), c.members[1].Kill())
			}, lasts: time.Second, end: func(*network) error {
				return errors.Join(c.members[0].Start(), c.members[1].Start(), c.ready())
			}},
			{name: "the leader stopped, and its clients cut off", begin: func(net *network) error {
				net.cut()
				defer net.heal()
				return c.strike(stopEtcd)
			}, lasts: 2 * time.Second, end: func(*network) error { return c.struck.Signal(syscall.SIGCONT) }},
			{name: "compacted", begin: func(*network) error {
				resp, err := c.client.Get(context.Background(), "x")
				if err == nil {
					_, err = c.client.Compact(context.Background(), resp.Header.Revision)
				}
				return err
			}},
			// The cluster that starts anew has the same id, which comes from its members' addresses.
			{name: "the data of all members deleted", begin: func(*network) error {
				return c.restart(`rm -rf "$0/member"`)
			}},
			{name: "all members restored from an older copy", begin: func(*network) error {
				if err := c.restart(`rm -rf "$0/copy" && cp -a "$0/member" "$0/copy"`); err != nil {
					return err
				}
				time.Sleep(700 * time.Millisecond) // what the cluster commits now is lost
				return c.restart(`rm -rf "$0/member" && cp -a "$0/copy" "$0/member"`)
			}},
			{name: "out of space", begin: func(*network) error {
				return c.space(etcdserverpb.AlarmRequest_ACTIVATE)
			}, lasts: 3 * time.Second, end: func(*network) error {
				return errors.Join(c.space(etcdserverpb.AlarmRequest_DEACTIVATE), c.ready())
			}},
		},
	}
}

// restart kills all members, runs a script with each one's folder, and starts them.
func (c *etcdCluster) restart(script string) (err error) {
	for _, m := range c.members {
		err = errors.Join(err, m.Kill())
	}
	for _, m := range c.members {
		err = errors.Join(err, exec.Command("sh", "-c", script, m.Dir).Run(), m.Start())
	}
	return errors.Join(err, c.ready())
}

// space raises the alarm by which a full member makes the cluster read-only, or clears it.
func (c *etcdCluster) space(action etcdserverpb.AlarmRequest_AlarmAction) error {
	_, err := etcdserverpb.NewMaintenanceClient(c.client.ActiveConnection()).Alarm(context.Background(),
		&etcdserverpb.AlarmRequest{Action: action, Alarm: etcdserverpb.AlarmType_NOSPACE})
	return err
}

func stopEtcd(m *dbtest.Process) error { return m.Signal(syscall.SIGSTOP) }

// strike does something to the leader.
func (c *etcdCluster) strike(do func(*dbtest.Process) error) error {
	err := dbtest.Within(time.Minute, func() error {
		for _, m := range c.members {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			status, err := c.client.Status(ctx, m.Address)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				c.struck = m
				return nil
			}
		}
		return errors.New("chaos: the etcd cluster has no leader")
	})
	if err != nil {
		return err
	}
	return do(c.struck)
}

// ready waits until the cluster commits writes.
func (c *etcdCluster) ready() error {
	return dbtest.Within(time.Minute, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.client.Put(ctx, "ready", "")
		return err
	})
}
