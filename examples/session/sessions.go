package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/snowkey-go/snowkey/token"
)

// The prefix __Host- makes browsers refuse the cookie unless it is Secure, has the path /
// and no domain. So neither a page without TLS nor another subdomain can set it.
const cookieName = "__Host-id"

func setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

type sessions struct {
	signer *token.Signer
	store  token.Store
}

// begin logs the user in. The session that the browser had before ends, so a token that
// somebody else knows cannot become the token of this user.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, user int64) error {
	if err := s.end(r); err != nil {
		return err
	}
	t, err := s.signer.Issue(r.Context())
	if err != nil {
		return err
	}
	if err := s.store.Add(r.Context(), t, user); err != nil {
		return err
	}
	setCookie(w, t.Text(), 0) // a cookie without MaxAge is deleted when the browser ends
	slog.Info("session: begins", "session", t.ID, "user", user, "address", r.RemoteAddr)
	return nil
}

// end logs the browser out, if it is logged in.
func (s *sessions) end(r *http.Request) error {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	t, err := s.signer.Verify(cookie.Value)
	if err != nil {
		return nil
	}
	user, err := s.store.User(r.Context(), t)
	switch {
	case errors.Is(err, token.ErrEnded), errors.Is(err, token.ErrInvalid):
		return nil
	case err != nil:
		return err
	}
	slog.Info("session: ends", "session", t.ID, "user", user, "address", r.RemoteAddr)
	return s.store.Revoke(r.Context(), user, t.ID)
}

// user returns the user whose browser sent the request.
func (s *sessions) user(r *http.Request) (int64, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return 0, err
	}
	t, err := s.signer.Verify(cookie.Value)
	if err != nil {
		return 0, err
	}
	return s.store.User(r.Context(), t)
}

type userKey struct{}

// userOf returns the user of a request that has passed require.
func userOf(ctx context.Context) int64 { return ctx.Value(userKey{}).(int64) }

// require is middleware that only lets requests of users pass.
func (s *sessions) require(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, err := s.user(r)
		switch {
		case err == nil:
			next(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
		case errors.Is(err, http.ErrNoCookie):
			http.Error(w, "log in first", http.StatusUnauthorized)
		case errors.Is(err, token.ErrExpired), errors.Is(err, token.ErrEnded):
			setCookie(w, "", -1)
			http.Error(w, "your session has ended; log in again", http.StatusUnauthorized)
		case errors.Is(err, token.ErrInvalid):
			slog.Warn("session: a token was forged", "address", r.RemoteAddr)
			setCookie(w, "", -1)
			http.Error(w, "log in first", http.StatusUnauthorized)
		default:
			fail(w, err)
		}
	}
}
