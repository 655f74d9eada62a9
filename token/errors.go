package token

import "errors"

var (
	// ErrInvalid is returned for every text that is not a token of one of the keys and of
	// the signer's purpose. If a [Store] returns it, the MAC is valid
	// but the token is not the one that was stored. Either the store was filled from a
	// backup, or somebody else has the key, so this should raise an alarm.
	ErrInvalid = errors.New("token: the token is not valid")

	// ErrExpired is returned by [Signer.Verify] if the token is genuine but [Config.TTL]
	// is over. The user has to log in again.
	ErrExpired = errors.New("token: the token has expired; the user has to log in again")

	// ErrEnded is returned by [Store.User] if there is no such session. It was revoked,
	// or not used for [Config.Idle], or removed after it expired.
	ErrEnded = errors.New("token: the session has ended; the user has to log in again")
)

// configError says what is wrong with a field of [Config], and what to do, without any
// secret.
func configError(field, reason string) error {
	return errors.New("token: Config." + field + " " + reason)
}
