//go:build generator

package ent

// The generator is no part of any build. The import keeps what it needs in
// go.mod, so that go generate changes nothing there.
import _ "entgo.io/ent/cmd/ent"
