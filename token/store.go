package token

import (
	"context"
	"errors"
)

// A Store keeps track of which sessions exist and whose they are. There are implementations
// in packages sqltoken and redistoken.
//
// Sessions begin with Add. They last until they're revoked, expire, or go without a User
// call for [Token.Idle]. Stores never keep a token itself, only its [Token.Hash]. A single
// store works for signers with different TTLs. All times come from the signer's clock,
// except that Redis measures idle time with its own.
//
// A Store is safe for concurrent use, including by any number of processes. Once a call has
// succeeded, all later calls see its effect, no matter which process they're made in. Errors
// other than the ones documented here come from the database. In that case there's no way to
// know whether the call took effect, so don't let the user in.
type Store interface {
	// Add starts a session for this user, using a token that has just been issued. Don't
	// send the token to the user until Add has returned. If it fails, issue another token.
	//
	// The error is [ErrInvalid] for a token that has been added before (even if that session
	// has ended), a token returned by [Signer.Verify], or the zero Token.
	Add(ctx context.Context, t Token, user int64) error

	// User returns the user for a token that has just been verified. It also records that
	// the session was used at t.Seen, although implementations may skip this until an eighth
	// of t.Idle has passed, to save writes.
	//
	// The error is [ErrEnded] if the session doesn't exist, and [ErrInvalid] if it has a
	// different token.
	User(ctx context.Context, t Token) (user int64, err error)

	// Sessions returns the ids of a user's sessions, newest first. To find out when they
	// began, decode the times in the ids. The list can include sessions that have been idle
	// for too long.
	Sessions(ctx context.Context, user int64) (ids []int64, err error)

	// Revoke ends a user's session. It does nothing if the user has no session with this id,
	// so it's safe to take the id from a form.
	Revoke(ctx context.Context, user, id int64) error

	// RevokeUser ends all of a user's sessions. A session that's still being added at the
	// same time might survive this (the same goes for Revoke).
	RevokeUser(ctx context.Context, user int64) error
}

var (
	// ErrInvalid is returned for any text that isn't a token signed with one of the keys and
	// for the signer's purpose.
	//
	// A [Store] also returns it when a token has a valid MAC, but isn't the one that was
	// stored for its session. Treat that as an alarm: either the store was restored from a
	// backup, or somebody else has your key.
	ErrInvalid = errors.New("token: the token is not valid")

	// ErrExpired is returned by [Signer.Verify] for a genuine token once [Config.TTL] is
	// over. The user has to log in again.
	ErrExpired = errors.New("token: the token has expired; the user has to log in again")

	// ErrEnded is returned by [Store.User] if the session doesn't exist: it was revoked, not
	// used for [Config.Idle], or removed after it expired.
	ErrEnded = errors.New("token: the session has ended; the user has to log in again")
)
