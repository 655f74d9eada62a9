//go:build man

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"
)

// With the tag man, the program writes its manual pages into a folder, and ends:
//
//	go run -tags man ./cmd/snowkey bin/man
//
// What people install does not need the packages that format pages.
func init() {
	root := new(app).root()
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Source: "Snowkey", Manual: "Snowkey"}
	if err := doc.GenManTree(root, &header, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "snowkey:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
