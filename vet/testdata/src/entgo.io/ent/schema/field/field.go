// Package field stands for ent's.
package field

type Type uint8

const (
	TypeInvalid Type = iota
	TypeInt
	TypeString
	TypeOther
)

type Builder struct{}

func Int32(name string) *Builder { return nil }
func Int64(name string) *Builder { return nil }
