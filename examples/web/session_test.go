package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorilla/sessions"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func stored(id pk.ID) any { return uint(id) }

func userOf(stored any) (id pk.ID, ok bool) {
	n, ok := stored.(uint)
	return pk.ID(n), ok
}

// session stores a value in a session of gorilla/sessions, and reads it in the next request.
func session(t *testing.T, value any) any {
	store := sessions.NewCookieStore(make([]byte, 32))
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	session := errtest.Must(store.Get(request, "session"))(t)
	session.Values["user"] = value
	response := httptest.NewRecorder()
	errtest.NoError(t, session.Save(request, response))
	next := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, cookie := range response.Result().Cookies() {
		next.AddCookie(cookie)
	}
	session = errtest.Must(store.Get(next, "session"))(t)
	return session.Values["user"]
}

// TestSession reads a session that the release before pk.ID has stored, and the reverse.
func TestSession(t *testing.T) {
	old := session(t, uint(7))
	if id, ok := userOf(old); !ok || id != 7 {
		t.Errorf("the session of the old release has the user %d, %v", id, ok)
	}
	if _, ok := old.(pk.ID); ok {
		t.Error("the session of the old release has a pk.ID, which the page denies")
	}
	if id, ok := session(t, stored(high)).(uint); !ok || uint64(id) != high {
		t.Errorf("the old release reads the user %d, %v", id, ok)
	}
	if _, ok := userOf(nil); ok {
		t.Error("an empty session has a user")
	}
}
