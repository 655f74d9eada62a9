// Package redistoken_test tests token/redistoken on a real server.
package redistoken_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/tokentest"
	"github.com/snowkey-go/snowkey/token"
	"github.com/snowkey-go/snowkey/token/redistoken"
)

func connect(t *testing.T) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: dbtest.Redis().Start(t).Address, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

func TestStore(t *testing.T) {
	t.Parallel()
	client := connect(t)
	stores := 0
	tokentest.Run(t, func(*testing.T) token.Store {
		stores++
		return redistoken.New(client).WithPrefix(fmt.Sprintf("%d:", stores))
	}, time.Sleep)
}

// workers counts the pools, since tests run at the same time.
var workers atomic.Int64

// newSigners returns a signer for each TTL.
func newSigners(t *testing.T, ttls ...time.Duration) (signers []*token.Signer) {
	t.Helper()
	keys := dbtest.Must(token.ParseKeys(tokentest.Keys))(t)
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(workers.Add(1))}))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	for _, ttl := range ttls {
		signers = append(signers, dbtest.Must(token.New(token.Config{Keys: keys, IDs: pool, TTL: ttl}))(t))
	}
	return signers
}

func newSigner(t *testing.T) *token.Signer {
	t.Helper()
	return newSigners(t, time.Hour)[0]
}

func login(t *testing.T, signer *token.Signer, store token.Store, user int64) token.Token {
	t.Helper()
	issued, err := signer.Issue(t.Context())
	if err == nil {
		err = store.Add(t.Context(), issued, user)
	}
	dbtest.NoError(t, err)
	return issued
}

// TestWhatIsStored reads everything on the server.
func TestWhatIsStored(t *testing.T) {
	t.Parallel()
	client := connect(t)
	store, signer := redistoken.New(client), newSigner(t)
	issued := login(t, signer, store, 7)
	session, user := fmt.Sprintf("snowkey:session:{%d}", issued.ID), "snowkey:user:{7}"
	keys, err := client.Keys(t.Context(), "*").Result()
	slices.Sort(keys)
	if err != nil || !slices.Equal(keys, []string{session, user}) {
		t.Errorf("the keys are %q, %v", keys, err)
	}
	if value, err := client.Get(t.Context(), session).Result(); err != nil || value != "7 "+issued.Hash() || strings.Contains(value, issued.Text()) {
		t.Errorf("the session is %q, %v", value, err)
	}
	if set, err := client.ZRangeWithScores(t.Context(), user, 0, -1).Result(); err != nil || len(set) != 1 ||
		set[0].Member != fmt.Sprint(issued.ID) || int64(set[0].Score) != issued.Expires.UnixMilli() {
		t.Errorf("the set is %v, %v", set, err)
	}
	// The session is removed after half an hour without a request, the set after an hour.
	for key, want := range map[string]time.Duration{session: 30 * time.Minute, user: time.Hour} {
		if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left > want || left < want-time.Minute {
			t.Errorf("%s expires in %v, %v, want %v", key, left, err, want)
		}
	}
}

// TestSetExpiresLast checks that a session with a short TTL does not shorten the life of
// the set, in either order, and that expired sessions leave it.
func TestSetExpiresLast(t *testing.T) {
	t.Parallel()
	client := connect(t)
	store := redistoken.New(client)
	signers := newSigners(t, time.Second, 12*time.Hour)
	short, long := signers[0], signers[1]
	first := login(t, short, store, 7)
	second := login(t, long, store, 7)
	third := login(t, short, store, 7)
	if left, err := client.PTTL(t.Context(), "snowkey:user:{7}").Result(); err != nil || left < 11*time.Hour {
		t.Errorf("the set expires in %v, %v", left, err)
	}
	time.Sleep(1100 * time.Millisecond)
	fourth := login(t, long, store, 7)
	members, err := client.ZRange(t.Context(), "snowkey:user:{7}", 0, -1).Result()
	if want := []string{fmt.Sprint(second.ID), fmt.Sprint(fourth.ID)}; err != nil || !slices.Equal(members, want) {
		t.Errorf("the set has %q, %v; want %q without %d and %d", members, err, want, first.ID, third.ID)
	}
	for _, expired := range []token.Token{first, third} {
		if n, err := client.Exists(t.Context(), fmt.Sprintf("snowkey:session:{%d}", expired.ID)).Result(); err != nil || n != 0 {
			t.Errorf("an expired session is on the server: %d, %v", n, err)
		}
	}
}

// TestEviction deletes either of the two keys, as a server that is out of memory does. The
// session must end.
func TestEviction(t *testing.T) {
	t.Parallel()
	client := connect(t)
	store, signer := redistoken.New(client), newSigner(t)
	for user, kind := range []string{"session", "user"} {
		issued := login(t, signer, store, int64(user))
		key := fmt.Sprintf("snowkey:%s:{%d}", kind, []int64{issued.ID, int64(user)}[user])
		if n, err := client.Del(t.Context(), key).Result(); err != nil || n != 1 {
			t.Fatalf("deleted %d keys, %v", n, err)
		}
		if user, err := store.User(t.Context(), issued); !errors.Is(err, token.ErrEnded) {
			t.Errorf("without %s the session is of user %d, %v", key, user, err)
		}
	}
}

// TestServerDown checks that calls fail while the server is down.
func TestServerDown(t *testing.T) {
	t.Parallel()
	server := dbtest.Redis().Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Address, MaxRetries: -1, DialTimeout: time.Second})
	defer client.Close()
	store, signer := redistoken.New(client), newSigner(t)
	issued := login(t, signer, store, 7)
	dbtest.NoError(t, server.Kill())
	if user, err := store.User(t.Context(), issued); err == nil || errors.Is(err, token.ErrEnded) || user != 0 {
		t.Errorf("without a server the session is of user %d, %v", user, err)
	}
	if err := store.Revoke(t.Context(), 7, issued.ID); err == nil {
		t.Error("without a server a session is revoked")
	}
}

// TestForgedTokenExtendsNothing uses a token that somebody made with a leaked key, for the
// id of another session. It must not keep that session alive.
func TestForgedTokenExtendsNothing(t *testing.T) {
	t.Parallel()
	client := connect(t)
	store, signer := redistoken.New(client), newSigner(t)
	issued := login(t, signer, store, 7)
	key := fmt.Sprintf("snowkey:session:{%d}", issued.ID)
	dbtest.NoError(t, client.PExpire(t.Context(), key, time.Minute).Err())
	forged := dbtest.Must(signer.Issue(t.Context()))(t)
	forged.ID = issued.ID
	if user, err := store.User(t.Context(), forged); !errors.Is(err, token.ErrInvalid) || user != 0 {
		t.Errorf("the forged token is of user %d, %v", user, err)
	}
	if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left > time.Minute {
		t.Errorf("the session ends in %v, %v", left, err)
	}
	if user, err := store.User(t.Context(), issued); err != nil || user != 7 {
		t.Errorf("the session is of user %d, %v", user, err)
	}
	if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left <= time.Minute {
		t.Errorf("after a request, the session ends in %v, %v", left, err)
	}
}
