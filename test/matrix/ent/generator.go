//go:build generator

package ent

// The generator isn't part of any build. We import it so that go.mod keeps its
// dependencies, because otherwise go generate would change go.mod.
import _ "entgo.io/ent/cmd/ent"
