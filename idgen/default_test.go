package idgen_test

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
)

func TestDefault(t *testing.T) {
	before := idgen.Default()
	t.Cleanup(func() { idgen.SetDefault(before) })
	idgen.SetDefault(nil)
	if _, err := idgen.Default().Next(t.Context()); !errors.Is(err, idgen.ErrNoPool) {
		t.Errorf("without a pool: %v", err)
	}
	pool := newPool(t, idgen.Config{})
	idgen.SetDefault(pool)
	if idgen.Default() != pool {
		t.Error("Default is not what SetDefault was given")
	}
}
