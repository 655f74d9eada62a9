package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/snowkey-go/snowkey/schema/pk"
)

type service struct {
	users    *users
	sessions *sessions
}

// newHandler returns the handler of all requests.
func newHandler(users *users, sessions *sessions) http.Handler {
	s, mux := &service{users, sessions}, http.NewServeMux()
	mux.HandleFunc("POST /users", s.register)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("POST /logout-everywhere", sessions.require(s.logoutEverywhere))
	mux.HandleFunc("POST /password", sessions.require(s.password))
	mux.HandleFunc("GET /me", sessions.require(s.me))
	mux.HandleFunc("GET /sessions", sessions.require(s.list))
	mux.HandleFunc("POST /sessions/{id}/end", sessions.require(s.endOne))
	// It refuses POST requests that come from pages of other origins.
	checked := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // nothing stays in a cache after a logout
		w.Header().Set("Strict-Transport-Security", "max-age=63072000")
		r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
		checked.ServeHTTP(w, r)
	})
}

// A public service would also limit the rate of these requests.
func (s *service) register(w http.ResponseWriter, r *http.Request) {
	name, password := r.PostFormValue("name"), r.PostFormValue("password")
	if name == "" || len(password) < 8 {
		http.Error(w, "want a name and a password of at least 8 characters", http.StatusBadRequest)
		return
	}
	id, err := s.users.create(r.Context(), name, password)
	if err == nil {
		err = s.sessions.begin(w, r, id)
	}
	done(w, err, http.StatusCreated)
}

func (s *service) login(w http.ResponseWriter, r *http.Request) {
	user, err := s.users.check(r.Context(), r.PostFormValue("name"), r.PostFormValue("password"))
	if err == nil {
		err = s.sessions.begin(w, r, user)
	}
	done(w, err, http.StatusNoContent)
}

func (s *service) logout(w http.ResponseWriter, r *http.Request) {
	err := s.sessions.end(r)
	if err == nil {
		setCookie(w, "", -1)
	}
	done(w, err, http.StatusNoContent)
}

func (s *service) logoutEverywhere(w http.ResponseWriter, r *http.Request) {
	err := s.sessions.store.RevokeUser(r.Context(), userOf(r.Context()))
	if err == nil {
		setCookie(w, "", -1)
	}
	done(w, err, http.StatusNoContent)
}

// password changes the password, ends all sessions of the user, and begins a new one.
func (s *service) password(w http.ResponseWriter, r *http.Request) {
	user, password := userOf(r.Context()), r.PostFormValue("new")
	name, err := s.users.name(r.Context(), user)
	if err == nil {
		_, err = s.users.check(r.Context(), name, r.PostFormValue("password"))
	}
	if err == nil && len(password) < 8 {
		http.Error(w, "want a new password of at least 8 characters", http.StatusBadRequest)
		return
	}
	if err == nil {
		err = s.users.setPassword(r.Context(), user, password)
	}
	if err == nil {
		err = s.sessions.store.RevokeUser(r.Context(), user)
	}
	if err == nil {
		err = s.sessions.begin(w, r, user)
	}
	done(w, err, http.StatusNoContent)
}

func (s *service) me(w http.ResponseWriter, r *http.Request) {
	name, err := s.users.name(r.Context(), userOf(r.Context()))
	if err != nil {
		fail(w, err)
		return
	}
	fmt.Fprintln(w, name)
}

// list writes a line for each session of the user, for a page that shows them.
func (s *service) list(w http.ResponseWriter, r *http.Request) {
	ids, err := s.sessions.store.Sessions(r.Context(), userOf(r.Context()))
	if err != nil {
		fail(w, err)
		return
	}
	for _, id := range ids {
		fmt.Fprintln(w, id, s.users.ids.Layout().Decode(id).Time.Format(time.RFC3339))
	}
}

// endOne ends one of the sessions. If the id is that of another user's, nothing happens.
func (s *service) endOne(w http.ResponseWriter, r *http.Request) {
	id, err := pk.Parse(r.PathValue("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done(w, s.sessions.store.Revoke(r.Context(), userOf(r.Context()), id.Int64()), http.StatusNoContent)
}

func done(w http.ResponseWriter, err error, status int) {
	switch {
	case errors.Is(err, errWrong):
		http.Error(w, err.Error(), http.StatusUnauthorized)
	case err != nil:
		fail(w, err)
	default:
		w.WriteHeader(status)
	}
}

func fail(w http.ResponseWriter, err error) {
	slog.Error("session: a request failed", "error", err)
	http.Error(w, "try again later", http.StatusServiceUnavailable)
}
