package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestServices(t *testing.T) {
	var out bytes.Buffer
	if err := services(t.Context(), &out, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []struct {
		service     string
		first, last int
	}{{"orders", 0, 255}, {"payments", 256, 511}} {
		var worker int
		var ids [3]int64
		if _, err := fmt.Sscanf(lines[i], want.service+" has worker number %d and makes [%d %d %d]", &worker, &ids[0], &ids[1], &ids[2]); err != nil {
			t.Fatalf("%s: %v", out.String(), err)
		}
		if worker < want.first || worker > want.last || ids[0]+1 != ids[1] || ids[1]+1 != ids[2] {
			t.Errorf("worker number %d, ids %d", worker, ids)
		}
	}
}
