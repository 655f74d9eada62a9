//go:build !darwin && !dragonfly && !freebsd && !illumos && !linux && !netbsd && !openbsd && !windows

package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

var errNoLocks = fmt.Errorf("files cannot be locked on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func untrusted(fs.FileInfo, fs.FileMode) string { return "" }

func tryLock(*os.File) (bool, error) { return false, errNoLocks }

func identity(*os.File) (string, error) { return "", errNoLocks }
