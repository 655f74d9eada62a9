//go:build unix

package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

const secret = "p4ssw0rd-of-the-test"

// Each error of the server becomes the right error of package lease, with a remedy and
// without a password.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	server := dbtest.Redis("--enable-debug-command", "yes").Start(t)
	admin := connect(t, server.Address)
	tell := func(args ...any) {
		t.Helper()
		dbtest.NoError(t, admin.Do(t.Context(), args...).Err())
	}
	login := func(user, password string) *redisstore.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Address, Username: user, Password: password})
		t.Cleanup(func() { client.Close() })
		return redisstore.New(client)
	}
	tell("ACL", "SETUSER", "nothing", "on", ">"+secret)
	tell("ACL", "SETUSER", "reader", "on", ">"+secret, "~snowkey:*", "+evalsha", "+eval", "+time", "+hget", "+hmget", "+hgetall")
	write := func(s *redisstore.Store) error { return s.AddRows(t.Context(), terms, 0, 0) }
	for _, tc := range []struct {
		name      string
		store     *redisstore.Store
		before    []any
		after     []any
		permanent bool
		remedy    string
	}{
		{"no user", login("nobody", secret), nil, nil, true, "correct the client's user name and password"},
		{"wrong password", login("nothing", secret+"x"), nil, nil, true, "correct the client's user name and password"},
		{"no rights", login("nothing", secret), nil, nil, true, "ACL SETUSER name ~snowkey:* +evalsha"},
		{"no right to write", login("reader", secret), nil, nil, true, "ACL SETUSER name ~snowkey:* +evalsha"},
		{"replica", login("", ""), []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, false, "connect to the primary"},
		{"memory full", login("", ""), []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, false, "reached maxmemory"},
		{"too few replicas", login("", ""), []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, false, "min-replicas-to-write"},
		{"key of another program", login("", ""), []any{"SET", "snowkey:orders", "x"}, []any{"DEL", "snowkey:orders"}, true, "another program uses a key"},
		{"damaged row", login("", ""), []any{"HSET", "snowkey:orders", "41/10/12/0", "x"}, []any{"DEL", "snowkey:orders"}, true, "find out which program changed it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.before != nil {
				tell(tc.before...)
			}
			err := write(tc.store)
			if tc.after != nil {
				tell(tc.after...)
			}
			check(t, err, tc.permanent, tc.remedy)
		})
	}

	t.Run("snapshots fail", func(t *testing.T) {
		tell("CONFIG", "SET", "save", "3600 1")
		dbtest.NoError(t, os.Mkdir(filepath.Join(server.Dir, "dump.rdb"), 0o700))
		tell("SET", "x", "y")
		for range 200 { // the rename of the snapshot fails
			admin.BgSave(t.Context())
			if info, _ := admin.Info(t.Context(), "persistence").Result(); strings.Contains(info, "rdb_last_bgsave_status:err") {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		err := write(login("", ""))
		found, err2 := redisstore.New(admin).Examine(t.Context())
		tell("CONFIG", "SET", "save", "")
		check(t, err, false, "check its disk")
		if err2 != nil || !slices.ContainsFunc(found, func(f lease.Finding) bool { return f.Kind == "not-saved" }) {
			t.Errorf("findings %v, %v", found, err2)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		// The client's own timeout is 3 s, and it tries 4 times.
		dbtest.NoError(t, server.Signal(syscall.SIGSTOP))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := login("", "").AddRows(ctx, terms, 0, 0)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 9*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		dbtest.NoError(t, server.Signal(syscall.SIGCONT))
	})
	t.Run("nobody listens", func(t *testing.T) {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Username: "u", Password: secret, MaxRetries: -1})
		defer client.Close()
		err := write(redisstore.New(client))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Error(err)
		}
	})
}

func check(t *testing.T, err error, permanent bool, remedy string) {
	t.Helper()
	_, isPermanent := errors.AsType[*lease.PermanentError](err)
	if err == nil || isPermanent != permanent || !strings.Contains(err.Error(), remedy) {
		t.Errorf("permanent %v, want %v; want the remedy %q: %v", isPermanent, permanent, remedy, err)
	}
	if strings.Contains(fmt.Sprint(err), secret) {
		t.Errorf("the password is printed: %v", err)
	}
}

// The server answers with the errors that a single test server can't be brought to give. The
// texts are those of Redis 7.0.
func TestErrorsOfAClusterAndOfAStart(t *testing.T) {
	t.Parallel()
	server := dbtest.Redis().Start(t)
	for reply, want := range map[string]struct {
		permanent bool
		remedy    string
	}{
		"MOVED 3999 127.0.0.1:6381":             {true, "redis.NewClusterClient"},
		"CLUSTERDOWN The cluster is down":       {false, "CLUSTER INFO"},
		"NOAUTH Authentication required.":       {true, "give the client a user name and a password"},
		"BUSY Redis is busy running a script.":  {false, "SCRIPT KILL"},
		"LOADING Redis is loading the dataset":  {false, "wait until it has loaded"},
		"MASTERDOWN Link with MASTER is down":   {false, "connect to the primary"},
		"ERR unknown command 'evalsha'":         {true, "version 5 or later"},
		"ERR Error running script (call to f_)": {true, "Redis 5 or later"},
	} {
		t.Run(reply, func(t *testing.T) {
			proxy := dbtest.ProxyTo(t, server.Address)
			proxy.Answer(func(request []byte) ([]byte, bool) { // HELLO and the client's other commands may come in one packet
				return bytes.Repeat([]byte("-"+reply+"\r\n"), bytes.Count(request, []byte("*"))), false
			})
			client := redis.NewClient(&redis.Options{Addr: proxy.Address(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			check(t, redisstore.New(client).AddRows(ctx, terms, 0, 0), want.permanent, want.remedy)
		})
	}
}

// A hook is called for each script that writes, which it can send.
type hook func(send func() error) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.Contains(fmt.Sprint(cmd.Args()...), `"version"`) {
			return h(func() error { return next(ctx, cmd) })
		}
		return next(ctx, cmd)
	}
}

// claimable returns a process whose scripts that write call the hook, another process
// with the same store, and a claim of a free row.
func claimable(t *testing.T, h hook) (other, p *kvtest.Process, c lease.Claim) {
	client := connect(t, dbtest.Redis().Start(t).Address)
	slow := redis.NewClient(client.Options())
	t.Cleanup(func() { slow.Close() })
	other, p = &kvtest.Process{T: t, Store: redisstore.New(client)}, &kvtest.Process{T: t, Store: redisstore.New(slow)}
	other.Add()
	c = other.ClaimOf(other.Look())
	slow.AddHook(h)
	return other, p, c
}

// A script that is sent again, because the client has lost the reply to the first, gets the
// answer of the first, unless another process has changed the row in the meantime.
func TestRequestsThatAreSentAgain(t *testing.T) {
	t.Parallel()
	sent, between := 0, func() {}
	other, p, c := claimable(t, func(send func() error) error {
		if send() == nil {
			sent++
			between()
		}
		return send()
	})
	stored := func(want lease.Row, ok bool, err error) lease.Row {
		t.Helper()
		got := p.Row()
		if got.Now = want.Now; !ok || err != nil || got != want {
			t.Errorf("got %+v, %v, %v; and the row is %+v", want, ok, err, got)
		}
		return want
	}
	held := stored(p.Claim(t.Context(), c))
	between = func() { dbtest.NoError(t, other.AddRows(t.Context(), terms, 1, 1)) } // changes the namespace
	held = stored(p.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "B", Wanted: 1 << 62, Volatile: true}))
	if held.Revision != 2 || sent < 2 {
		t.Errorf("after %d requests, the row is %+v", sent, held)
	}
	between = func() {
		r := lease.Renewal{Terms: terms, Held: held, Token: "D", Volatile: true}
		r.Held.Token, r.Held.Revision = "C", 3
		if _, ok, err := other.Renew(t.Context(), r); !ok || err != nil {
			t.Errorf("the next renewal: %v, %v", ok, err)
		}
	}
	if row, ok, err := p.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "C", Volatile: true}); ok || err != nil {
		t.Errorf("a renewal that arrives after the next one: %+v, %v", row, err)
	}
}

// A claim whose script is executed after a fence is refused.
func TestFenceDuringAClaim(t *testing.T) {
	t.Parallel()
	var other *kvtest.Process
	fences := 0
	other, slow, c := claimable(t, func(send func() error) error {
		fences++
		later := terms
		later.Ahead *= 2
		dbtest.NoError(t, other.Fence(t.Context(), later, ""))
		return send()
	})
	if row, ok, err := slow.Claim(t.Context(), c); ok || err != nil || fences == 0 {
		t.Errorf("after %d fences: %+v, %v", fences, row, err)
	}
}

// A user that has no other rights than those of the error message and of docs/stores.md can
// do everything.
func TestTheUserNeedsNoMoreRights(t *testing.T) {
	t.Parallel()
	server := dbtest.Redis("--appendonly", "yes").Start(t)
	admin := connect(t, server.Address)
	nothing := redis.NewClient(&redis.Options{Addr: server.Address, Username: "snowkey", Password: secret})
	defer nothing.Close()
	dbtest.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "snowkey", "on", ">"+secret).Err())
	_, _, err := redisstore.New(nothing).Layouts(t.Context(), "orders")
	_, rule, ok := strings.Cut(fmt.Sprint(err), "ACL SETUSER name ")
	if !ok {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/stores.md")
	if err != nil || !strings.Contains(string(page), rule) {
		t.Errorf("docs/stores.md does not have the rule %q: %v", rule, err)
	}
	args := []any{"ACL", "SETUSER", "snowkey"}
	for word := range strings.FieldsSeq(rule) {
		args = append(args, word)
	}
	dbtest.NoError(t, admin.Do(t.Context(), args...).Err())
	store := redisstore.New(nothing)
	pool := dbtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{Namespace: "orders", MaxClockSkew: 100 * time.Millisecond}))(t)
	dbtest.Must(pool.Next(t.Context()))(t)
	found, err := store.Examine(t.Context())
	if err != nil || len(found) != 1 || found[0].Kind != "cannot-tell" {
		t.Errorf("without +info: %v, %v", found, err)
	}
	dbtest.NoError(t, pool.Close(t.Context()))
	dbtest.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "snowkey", "+info").Err())
	if found, err = store.Examine(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("with +info: %v, %v", found, err)
	}
	// The user can't touch other keys.
	if err := nothing.Do(t.Context(), "HSET", "other", "a", "b").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("another key: %v", err)
	}
}

func TestExamine(t *testing.T) {
	t.Parallel()
	server := dbtest.Redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru").Start(t)
	client := connect(t, server.Address)
	kinds := func() (all []string) {
		t.Helper()
		found := dbtest.Must(redisstore.New(client).Examine(t.Context()))(t)
		for _, f := range found {
			if all = append(all, f.Kind); f.Text == "" || f.Remedy == "" {
				t.Errorf("%+v", f)
			}
		}
		slices.Sort(all)
		return all
	}
	if got := kinds(); !slices.Equal(got, []string{"eviction", "not-persistent"}) {
		t.Error(got)
	}
	client.ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru")
	client.ConfigSet(t.Context(), "appendonly", "yes")
	if got := kinds(); len(got) != 0 {
		t.Error(got)
	}
	client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1")
	if got := kinds(); !slices.Equal(got, []string{"read-only"}) {
		t.Error(got)
	}
}
