package token

import "context"

// A Store knows which sessions exist, and whose they are. Packages sqltoken and redistoken
// have implementations.
//
// A session exists from Add until it is revoked or expires, or until no User call has been
// made for [Token.Idle]. Signers with different TTLs may use the same store. The times come from the signer's clock, except that Redis
// counts idle time by its own. A store never keeps a token,
// only [Token.Hash].
//
// A Store is safe for concurrent use by any number of processes. Once a call has returned
// without an error, all later calls of all processes see its effect. Any error other than
// those named here comes from the database. The effect is then unknown, and the
// application must not let the user in.
type Store interface {
	// Add begins the session of a token that was just issued, for this user. The token
	// must not be sent before Add has returned. If Add fails, issue another token. The
	// error is [ErrInvalid] for a token that was added before, even if its session has
	// ended, for one of [Signer.Verify], and for the zero Token.
	Add(ctx context.Context, t Token, user int64) error

	// User returns the user of a token that was just verified, and records that the
	// session was used at t.Seen. To save writes, it may record this only if an eighth of
	// t.Idle has passed. The error is [ErrEnded] if the session does not exist, and
	// [ErrInvalid] if its token is another one.
	User(ctx context.Context, t Token) (user int64, err error)

	// Sessions returns the ids of a user's sessions, the newest first. The times in the ids
	// say when they began. Some of these sessions may have been idle for too long.
	Sessions(ctx context.Context, user int64) (ids []int64, err error)

	// Revoke ends a session of a user. If the user has no session with this id, it does
	// nothing, so the id may come from a form.
	Revoke(ctx context.Context, user, id int64) error

	// RevokeUser ends all sessions of a user. A session whose Add is running at the same
	// time may survive this, and Revoke.
	RevokeUser(ctx context.Context, user int64) error
}
