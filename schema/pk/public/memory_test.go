package public

import (
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// A program may take the entity from a request. Decode must not remember those that no id
// belongs to.
func TestDecodeRemembersRealEntities(t *testing.T) {
	c := errtest.Must(Load("A:98658f56aa0efc6f5309484db584619996d33e372b1194aef46ecb56bb04c565"))(t)
	text := errtest.Must(c.Encode("user", 280421183266521089))(t)
	for i := range 1000 {
		if id, err := c.Decode(fmt.Sprint("user", i), text); err == nil {
			t.Fatalf("it is %d of another entity", id)
		}
	}
	if n := len(*c.writes.tags.Load()); n != 1 {
		t.Errorf("it remembers %d entities", n)
	}
	// Another process decodes what this one has encoded.
	other := errtest.Must(Load("A:98658f56aa0efc6f5309484db584619996d33e372b1194aef46ecb56bb04c565"))(t)
	for range 2 {
		if id, err := other.Decode("user", text); err != nil || id != 280421183266521089 {
			t.Errorf("it is %d, %v", id, err)
		}
	}
	if n := len(*other.writes.tags.Load()); n != 1 {
		t.Errorf("after it has decoded an id, it remembers %d entities", n)
	}
}
