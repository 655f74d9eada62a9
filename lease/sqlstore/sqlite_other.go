//go:build !linux

package sqlstore

import (
	"os"
	"path/filepath"
	"strings"
)

// share does nothing: BSD and macOS give the folder the group of the folder above it, and
// Windows its permissions.
func share(string, os.FileInfo) {}

// isRemote reports whether the file is on a network drive of Windows with a path such as
// \\server\share.
func isRemote(path string) bool {
	volume := filepath.VolumeName(path)
	return strings.HasPrefix(volume, `\\`) && !strings.HasPrefix(volume, `\\?\`)
}
