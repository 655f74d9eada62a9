package main

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func setUser(session map[any]any, id pk.ID) { session["user"] = uint(id) }

func userOf(session map[any]any) (id pk.ID, ok bool) {
	stored, ok := session["user"].(uint)
	return pk.ID(stored), ok
}

// TestSession reads a session that the release before pk.ID has stored. gorilla/sessions and
// scs encode their values with gob, in maps like this one.
func TestSession(t *testing.T) {
	stored := func(session map[any]any) map[any]any {
		var buf bytes.Buffer
		if err := gob.NewEncoder(&buf).Encode(session); err != nil {
			t.Fatal(err)
		}
		var read map[any]any
		if err := gob.NewDecoder(&buf).Decode(&read); err != nil {
			t.Fatal(err)
		}
		return read
	}
	if id, ok := userOf(stored(map[any]any{"user": uint(7)})); !ok || id != 7 {
		t.Errorf("the session of the old release has the user %d, %v", id, ok)
	}
	session := make(map[any]any)
	setUser(session, high)
	if id, ok := stored(session)["user"].(uint); !ok || uint64(id) != high {
		t.Errorf("the old release reads the user %d, %v", id, ok)
	}
	if _, ok := userOf(map[any]any{}); ok {
		t.Error("an empty session has a user")
	}
}
