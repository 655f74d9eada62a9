// Package token issues and verifies session tokens, the kind a browser keeps in a cookie after
// logging in. A token contains a session id, but no user data.
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
// With the id up front and the alphabet in ASCII order, tokens sort like their ids, i.e. by
// when the sessions began. You don't need to escape tokens in cookies, URLs or headers, and
// the prefix lets secret scanners find them. Every token has exactly one valid spelling. Test
// vectors are in testdata.
//
// # What protects a session
//
//   - The MAC proves that the token was issued for this purpose and with this expiry, by a
//     process holding one of the keys. [Signer.Verify] rejects anything else with
//     [ErrInvalid], without touching the database. MACs are compared in constant time.
//   - Stores only keep a hash of each token. Someone with a leaked key still can't make a
//     token that a store would accept, since they'd have to guess the random bits. A leaked
//     store doesn't help either: you can't get from a hash back to the token.
//   - Ending a session takes a store. Without one, tokens stay valid until they expire.
//
// Users can see when their own session began, and which worker number issued it, because
// both are part of the id.
//
// # Errors
//
// Whatever is wrong with a forged token, the error is always [ErrInvalid]. You'll only see
// [ErrExpired] and [ErrEnded] for tokens with a valid MAC, so it's safe to tell users "your
// session has ended" on the login page when you get one of these.
//
// # Rotation
//
// A signer accepts tokens signed with any of its keys, but always signs with the first. To
// rotate keys:
//
//  1. Add the new key at the end, and deploy to all processes.
//  2. Move it to the front, and deploy again.
//  3. Remove the old key once its last tokens have expired, i.e. after [Config.TTL].
//
// If a key has leaked, don't wait: removing it right away ends all of its sessions.
package token
