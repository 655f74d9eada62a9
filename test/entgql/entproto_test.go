// Package entgql tests keys with entproto. The packages below it test them with entgql.
package entgql

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"entgo.io/contrib/entproto"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// If the annotation of the id asks for it, entproto writes keys as int64. The service
// then has all methods other than List.
func TestEntproto(t *testing.T) {
	load := func() *gen.Graph {
		graph := errtest.Must(entc.LoadGraph("./ent/schema", &gen.Config{}))(t)
		return graph
	}
	adapter := errtest.Must(entproto.LoadAdapter(load()))(t)
	file := errtest.Must(adapter.GetFileDescriptor("User"))(t)
	for _, message := range []string{"User", "Post", "GetUserRequest", "DeleteUserRequest"} {
		if m := file.FindMessage("entpb." + message); m == nil || m.FindFieldByName("id").GetType().String() != "TYPE_INT64" {
			t.Errorf("the id of %s: %v", message, m)
		}
	}
	var methods []string
	for _, m := range file.FindService("entpb.UserService").GetMethods() {
		methods = append(methods, m.GetName())
	}
	if want := []string{"Create", "Get", "Update", "Delete", "BatchCreate"}; !slices.Equal(methods, want) {
		t.Errorf("the methods are %q, want %q", methods, want)
	}

	graph := load()
	for _, node := range graph.Nodes {
		delete(node.Annotations, entproto.ServiceAnnotation)
		maps.Copy(node.Annotations, gen.Annotations{entproto.ServiceAnnotation: entproto.Service()})
	}
	if _, err := entproto.LoadAdapter(graph); err == nil || !strings.Contains(err.Error(), "list method does not support schema") {
		t.Errorf("with a List method: %v", err)
	}
}
