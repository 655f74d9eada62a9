// Package token issues and verifies session tokens. Use it to keep users logged in: after a
// login, the browser stores the token in a cookie, and sends it with each request. A token
// contains a session id, but no user data.
//
//	keys, err := token.ParseKeys(os.Getenv("SESSION_KEYS"))
//	signer, err := token.New(token.Config{Keys: keys})
//	sessions := sqltoken.Postgres(db) // or redistoken.New(client)
//
//	// login
//	t, err := signer.Issue(ctx)
//	err = sessions.Add(ctx, t, user.ID)
//	http.SetCookie(w, &http.Cookie{Name: "__Host-id", Value: t.Text(), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
//
//	// each request
//	t, err := signer.Verify(cookie.Value) // needs no database
//	userID, err := sessions.User(ctx, t)
//
//	// logout, and logout everywhere
//	err = sessions.Revoke(ctx, userID, t.ID)
//	err = sessions.RevokeUser(ctx, userID)
//
// Sessions can be stored in PostgreSQL, MySQL, MariaDB or SQLite (package sqltoken), or in
// Redis or Valkey (package redistoken). For the middleware, see the program in
// examples/session.
//
// # The format
//
// A token consists of 88 characters: the prefix "st1_" plus 63 bytes, encoded with 6 bits per
// character. The alphabet is base64url's, rearranged into ASCII order:
//
//	-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz
//
//	byte   0 ─────── 7   8 ──────── 23   24 ────── 29   30    31 ──────── 62
//	      ┌───────────┬────────────────┬──────────────┬─────┬────────────────┐
//	      │    id     │     random     │   expires    │ key │      MAC       │
//	      └───────────┴────────────────┴──────────────┴─────┴────────────────┘
//	        int64       128 bits         ms since 1970  1–255  HMAC-SHA-256
//
// Integers are big-endian. The MAC covers the prefix, all bytes preceding the MAC, and the
// purpose:
//
//	MAC = HMAC-SHA-256(secret of the key, "st1_" ‖ bytes 0 to 30 ‖ purpose)
//
// This format has the following properties (see testdata for test vectors):
//
//   - Tokens sort by when their sessions began, because the id comes first.
//   - They don't have to be escaped in cookies, URLs or headers.
//   - Secret scanners can find them by their prefix.
//   - Each token has exactly one valid spelling.
//
// # What protects a session
//
//   - A token cannot be forged without a key. The MAC proves that it was issued for this
//     purpose and with this expiry. [Signer.Verify] rejects anything else with [ErrInvalid],
//     without a query. MACs are compared in constant time.
//   - A leaked key isn't enough to log in. Stores compare a hash of the whole token, so an
//     attacker would have to guess its random bits.
//   - A leaked store isn't enough to log in either, because a token cannot be computed from
//     its hash.
//   - A session can be ended before its token expires, but only with a store. A program that
//     only calls Verify accepts a token until it expires.
//
// Users can decode the id in their own token, which shows when the session began and the
// worker number that issued it.
//
// # Errors
//
// [Signer.Verify] returns [ErrInvalid] for every forged token, whatever is wrong with it.
// [ErrExpired] and [ErrEnded] are only returned for tokens with a valid MAC. You can
// therefore show a message like "your session has ended" on the login page without helping
// an attacker.
//
// # Rotation
//
// A signer accepts tokens signed with any of its keys, but always signs with the first. To
// replace a key without ending sessions:
//
//  1. Add the new key at the end, and deploy to all processes.
//  2. Move it to the front, and deploy again.
//  3. Remove the old key once its last tokens have expired, i.e. after [Config.TTL].
//
// If a key has leaked, remove it right away instead of following these steps. All sessions
// with tokens from this key will end.
package token
