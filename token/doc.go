// Package token makes session tokens: what a browser keeps in a cookie after a login. A
// token holds the id of a session, and nothing about the user.
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
// Package sqltoken keeps sessions in PostgreSQL, MySQL, MariaDB or SQLite, and package
// redistoken in Redis or Valkey. The program in examples/session has the middleware.
//
// # The format
//
// A token is 88 characters: "st1_" and 63 bytes of 6 bits a character. The alphabet
// is that of base64url, but in the order of ASCII:
//
//	-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz
//
//	byte   0 ─────── 7   8 ──────── 23   24 ────── 29   30    31 ──────── 62
//	      ┌───────────┬────────────────┬──────────────┬─────┬────────────────┐
//	      │    id     │     random     │   expires    │ key │      MAC       │
//	      └───────────┴────────────────┴──────────────┴─────┴────────────────┘
//	        int64       128 bits         ms since 1970  1–255  HMAC-SHA-256
//
// Integers are big-endian. The MAC covers the prefix, the bytes before it and the purpose:
//
//	MAC = HMAC-SHA-256(secret of the key, "st1_" ‖ bytes 0 to 30 ‖ purpose)
//
// Since the id comes first and the characters ascend in ASCII, tokens sort as their ids,
// which is the order in which sessions began. The characters need no escaping in
// cookies, URLs and headers. Secret scanners can find the prefix. Each token has a single
// valid spelling. See testdata for vectors.
//
// # What protects a session
//
//   - The MAC proves that a process with one of the keys issued the token, with this
//     expiry and for this purpose. [Signer.Verify] refuses everything else with [ErrInvalid] before a
//     database is asked. It compares MACs in constant time.
//   - Stores keep a hash of each token. A leaked key is not enough to make a token that a
//     store accepts, because the random bits are unknown. A leaked store is not enough
//     either, because it has only hashes.
//   - The store ends sessions. Without a store, a token is valid until it expires.
//
// A token does show when its session began, and the worker number, because these are
// parts of the id. It shows them to the user whose session it is.
//
// # Errors
//
// All forged tokens give the same error, [ErrInvalid], for any kind of defect. [ErrExpired] and [ErrEnded] are only returned
// for tokens with a valid MAC, so an attacker learns nothing from them. An application can use them
// to say "your session has ended" on the login page.
//
// # Rotation
//
// A signer signs with the first of its keys and accepts tokens of all of them. To rotate:
//
//  1. Add the new key at the end, and deploy to all processes.
//  2. Move it to the front, and deploy.
//  3. Remove the old key when the last of its tokens has expired, after [Config.TTL].
//
// To end all sessions at once after a leak, remove the leaked key without waiting.
package token
