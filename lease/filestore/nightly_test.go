//go:build nightly && linux

package filestore

import "time"

func init() { length = 20 * time.Second }
