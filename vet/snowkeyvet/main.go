// Snowkeyvet is a tool for go vet that applies the rules of package vet to one package at a
// time:
//
//	go vet -vettool=$(which snowkeyvet) ./...
//
// The command snowkey vet finds more, because it sees the whole program.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/snowkey-go/snowkey/vet"
)

func main() { unitchecker.Main(vet.Analyzers(vet.Config{})...) }
