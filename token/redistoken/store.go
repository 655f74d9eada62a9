package redistoken

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/token"
)

// A Store keeps sessions in Redis. Create one using [New]; the zero Store isn't valid.
//
// A Store is safe for concurrent use, including by any number of processes.
type Store struct {
	client redis.UniversalClient
	prefix string
}

var _ token.Store = (*Store)(nil)

// New returns a store using client, which should have timeouts. The application is
// responsible for closing it.
func New(client redis.UniversalClient) *Store { return &Store{client, "snowkey:"} }

// WithPrefix returns a store on the same server whose keys start with prefix rather than
// "snowkey:". Give each application its own prefix if several share a server.
func (s *Store) WithPrefix(prefix string) *Store { return &Store{s.client, prefix} }

func (s *Store) session(id int64) string { return fmt.Sprintf("%ssession:{%d}", s.prefix, id) }
func (s *Store) user(user int64) string  { return fmt.Sprintf("%suser:{%d}", s.prefix, user) }

// Add implements [token.Store].
func (s *Store) Add(ctx context.Context, t token.Token, user int64) error {
	if !t.Claim() {
		return token.ErrInvalid
	}
	// The session comes first. Otherwise RevokeUser could run in between, and the session
	// would be added after it had been removed from the set.
	added, err := s.client.SetNX(ctx, s.session(t.ID), fmt.Sprintf("%d %s", user, t.Hash()), lifetime(t)).Result()
	if err != nil {
		return wrap(err)
	}
	if !added {
		return token.ErrInvalid
	}
	set, expires := s.user(user), t.Expires.UnixMilli()
	_, err = s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRemRangeByScore(ctx, set, "-inf", strconv.FormatInt(t.Seen.UnixMilli(), 10))
		p.ZAdd(ctx, set, redis.Z{Score: float64(expires), Member: t.ID}) // exact, because milliseconds are below 2^53
		// GT alone does not set the first expiry.
		p.Do(ctx, "PEXPIREAT", set, expires, "NX")
		p.Do(ctx, "PEXPIREAT", set, expires, "GT")
		return nil
	})
	return wrap(err)
}

// lifetime returns how long the server must keep a session that is not used again.
func lifetime(t token.Token) time.Duration {
	left := t.Expires.Sub(t.Seen)
	if t.Idle > 0 {
		left = min(left, t.Idle)
	}
	return max(left.Truncate(time.Millisecond), time.Millisecond)
}

// User implements [token.Store]. It records each use.
func (s *Store) User(ctx context.Context, t token.Token) (int64, error) {
	if t.Text() == "" {
		return 0, token.ErrInvalid
	}
	value, err := s.client.Get(ctx, s.session(t.ID)).Result()
	if errors.Is(err, redis.Nil) {
		return 0, token.ErrEnded
	}
	if err != nil {
		return 0, wrap(err)
	}
	id, hash, _ := strings.Cut(value, " ")
	user, err := strconv.ParseInt(id, 10, 64)
	if err != nil || subtle.ConstantTimeCompare([]byte(hash), []byte(t.Hash())) == 0 {
		return 0, token.ErrInvalid
	}
	var used *redis.BoolCmd
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZScore(ctx, s.user(user), strconv.FormatInt(t.ID, 10))
		used = p.PExpire(ctx, s.session(t.ID), lifetime(t))
		return nil
	})
	if errors.Is(err, redis.Nil) || err == nil && !used.Val() {
		return 0, token.ErrEnded
	}
	if err != nil {
		return 0, wrap(err)
	}
	return user, nil
}

// Sessions implements [token.Store].
func (s *Store) Sessions(ctx context.Context, user int64) ([]int64, error) {
	members, err := s.client.ZRange(ctx, s.user(user), 0, -1).Result()
	if err != nil {
		return nil, wrap(err)
	}
	ids, exist := make([]int64, len(members)), make([]*redis.IntCmd, len(members))
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, member := range members {
			ids[i], _ = strconv.ParseInt(member, 10, 64) // otherwise no session has this id
			exist[i] = p.Exists(ctx, s.session(ids[i]))
		}
		return nil
	})
	if err != nil {
		return nil, wrap(err)
	}
	// The set is in the order in which sessions expire.
	left := ids[:0]
	for i, id := range ids {
		if exist[i].Val() > 0 {
			left = append(left, id)
		}
	}
	slices.SortFunc(left, func(a, b int64) int { return cmp.Compare(b, a) })
	return left, nil
}

// Revoke implements [token.Store].
func (s *Store) Revoke(ctx context.Context, user, id int64) error {
	// The set knows whose session it is. What remains after this has ended.
	removed, err := s.client.ZRem(ctx, s.user(user), id).Result()
	if err != nil || removed == 0 {
		return wrap(err)
	}
	return wrap(s.client.Del(ctx, s.session(id)).Err())
}

// RevokeUser implements [token.Store].
func (s *Store) RevokeUser(ctx context.Context, user int64) error {
	return wrap(s.client.Del(ctx, s.user(user)).Err())
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redistoken: %w", err)
}
