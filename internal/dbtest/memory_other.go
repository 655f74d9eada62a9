//go:build !linux

package dbtest

import "os"

func memory() string { return os.TempDir() }
