package token

import "errors"

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

// configError says what is wrong with a field of [Config], and what to do, without any
// secret.
func configError(field, reason string) error {
	return errors.New("token: Config." + field + " " + reason)
}
