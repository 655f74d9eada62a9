package main

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen/idgentest"
)

// TestStableIDs shows how the test of a handler gets the same ids in every run. The ids
// differ by one and are equal as float64, so the test fails if anything rounds them.
func TestStableIDs(t *testing.T) {
	t.Parallel() // each test has its own pool
	ids, err := idgentest.New(t).NextN(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	handler := newHandler(ids)
	for path, want := range map[string]string{
		"/int64/users":                 `200 [{"id":132271570944004097,"name":"Ada"},{"id":132271570944004098,"name":"Bob"}]`,
		"/pk/users":                    `200 [{"id":"132271570944004097","name":"Ada"},{"id":"132271570944004098","name":"Bob"}]`,
		"/pk/users/132271570944004097": `200 {"id":"132271570944004097","name":"Ada"}`,
		"/pk/users/132271570944004098": `200 {"id":"132271570944004098","name":"Bob"}`,
	} {
		if got := get(handler, path); got != want {
			t.Errorf("GET %s: %s, want %s", path, got, want)
		}
	}
}
