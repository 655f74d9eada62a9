//go:build darwin || dragonfly || freebsd || illumos || netbsd || openbsd

package filestore

import "os"

// generation would tell apart the files that have had one number.
func generation(*os.File) uint32 { return 0 }
