//go:build darwin || dragonfly || freebsd || illumos || netbsd || openbsd

package filestore

import "os"

// generation returns 0, because these systems don't show the inode generation.
func generation(*os.File) uint32 { return 0 }
