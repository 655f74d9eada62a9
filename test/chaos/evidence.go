//go:build unix

package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// saveTables writes all columns of the lease tables to tables.txt.
func (f *fleet) saveTables() (failed error) {
	file, err := os.Create(filepath.Join(f.dir, "tables.txt"))
	if err != nil {
		return err
	}
	db, err := sql.Open(f.orders.Driver, f.database)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, table := range []string{"snowkey_lease_ns", "snowkey_lease"} {
		fmt.Fprintf(file, "%s at %s\n", table, time.Now().Format(time.RFC3339Nano))
		if err := writeRows(ctx, file, db, "SELECT * FROM "+table); err != nil {
			fmt.Fprintln(file, err)
			failed = errors.Join(failed, err)
		}
		fmt.Fprintln(file)
	}
	return errors.Join(failed, file.Close())
}

// writeRows writes a line with the column names, followed by a line for each row.
// Columns are separated by tabs.
func writeRows(ctx context.Context, w io.Writer, db *sql.DB, query string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, strings.Join(names, "\t"))
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			if names[i] = "NULL"; v.Valid {
				names[i] = v.String
			}
		}
		fmt.Fprintln(w, strings.Join(names, "\t"))
	}
	return rows.Err()
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
