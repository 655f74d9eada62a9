//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// keepEnv is the environment variable for the directory in which to keep evidence.
const keepEnv = "SNOWKEY_CHAOS_KEEP"

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// newEvidence creates a directory for everything that a test writes. The test removes
// it again unless it fails.
func newEvidence(test string) (dir string, err error) {
	parent := os.Getenv(keepEnv)
	if parent == "" {
		parent = os.TempDir()
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "snowkey-chaos-"+notInNames.ReplaceAllString(test, "-")+"-")
}

// saveTables writes all rows and namespaces to tables.txt.
func (f *fleet) saveTables() error {
	file, err := os.Create(filepath.Join(f.dir, "tables.txt"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(f.server.dump(ctx, file), file.Close())
}

// saveDuplicates writes all duplicates to duplicates.txt.
func (f *fleet) saveDuplicates() error {
	found, _, err := f.check.Check()
	if err != nil || len(found) == 0 {
		return err
	}
	file, err := os.Create(filepath.Join(f.dir, "duplicates.txt"))
	if err != nil {
		return err
	}
	for _, d := range found {
		fmt.Fprintln(file, d)
	}
	return file.Close()
}
