//go:build nightly && linux

package filestore

import "time"

func init() { length, seeds = 20*time.Second, 60 }
