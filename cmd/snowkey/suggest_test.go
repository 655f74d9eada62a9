package main

import (
	"strings"
	"testing"
)

// What people try first leads them to the right command.
func TestSuggestions(t *testing.T) {
	for args, want := range map[string]string{
		"decode":                      "did you mean inspect?",
		"worker":                      "did you mean workers?",
		"280421183266521089":          "snowkey inspect ID",
		"xyz":                         "it has ",
		"serve --listen :8080":        "--addr",
		"serve --listen=:8080":        "--addr",
		"serve --unknown":             "unknown flag: --unknown",
		"serve -addr :0":              "write --addr",
		"postgres://me:hunter2@db/db": "which command? The first argument is not one",
	} {
		got := call(t, nil, strings.Fields(args)...)
		if got.status != 2 || !strings.Contains(got.errors, want) || strings.Contains(got.errors, "hunter2") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := call(t, nil); got.status != 0 || !strings.Contains(got.out, "inspect") || got.errors != "" {
		t.Errorf("without arguments: %+v", got)
	}
}
