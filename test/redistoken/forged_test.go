package redistoken_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/token"
	"github.com/snowkey-go/snowkey/token/redistoken"
)

// TestForgedTokenExtendsNothing uses a token that somebody made with a leaked key, for the
// id of another session. It must not keep that session alive.
func TestForgedTokenExtendsNothing(t *testing.T) {
	t.Parallel()
	client := connect(t)
	store, signer := redistoken.New(client), newSigner(t)
	issued := login(t, signer, store, 7)
	key := fmt.Sprintf("snowkey:session:{%d}", issued.ID)
	dbtest.NoError(t, client.PExpire(t.Context(), key, time.Minute).Err())
	forged := dbtest.Must(signer.Issue(t.Context()))(t)
	forged.ID = issued.ID
	if user, err := store.User(t.Context(), forged); !errors.Is(err, token.ErrInvalid) || user != 0 {
		t.Errorf("the forged token is of user %d, %v", user, err)
	}
	if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left > time.Minute {
		t.Errorf("the session ends in %v, %v", left, err)
	}
	if user, err := store.User(t.Context(), issued); err != nil || user != 7 {
		t.Errorf("the session is of user %d, %v", user, err)
	}
	if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left <= time.Minute {
		t.Errorf("after a request, the session ends in %v, %v", left, err)
	}
}
