package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A migration is a change of the database for a migration tool, and what reverses it.
type migration struct {
	name     string
	up, down []string // statements

	// alone says that the tool must not run the file in a transaction, because the
	// statements begin their own. It's only needed on SQLite, where foreign keys can't be
	// switched off in a transaction.
	alone bool
}

// A format is a migration tool, which has its own names of files and its own comments.
type format struct {
	files func(m migration, version string) map[string]string
	hint  string
}

var formats = map[string]format{
	"goose":          {gooseFiles, "Run them with goose up, one at a time: goose up-by-one."},
	"golang-migrate": {golangMigrateFiles, "Run them one at a time: migrate up 1. The URL of MySQL needs multiStatements=true, and that of SQLite x-no-tx-wrap=true."},
	"atlas":          {atlasFiles, "Run atlas migrate hash, then atlas migrate apply 1 for each. The folder undo has the files that reverse them."},
}

// files are the flags for migration files.
type files struct{ dir, tool string }

func (f *files) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "files", "", "the `folder` to write migration files to, for teams whose pipeline runs SQL")
	cmd.Flags().StringVar(&f.tool, "format", "goose", "the `tool` that runs the files: goose, golang-migrate or atlas")
}

// gooseFiles has one file with both directions. Each statement is marked, so that goose
// doesn't split the bodies of triggers.
func gooseFiles(m migration, version string) map[string]string {
	var b strings.Builder
	if m.alone {
		b.WriteString("-- +goose NO TRANSACTION\n")
	}
	for _, part := range []struct {
		name       string
		statements []string
	}{{"Up", m.up}, {"Down", m.down}} {
		fmt.Fprintf(&b, "-- +goose %s\n", part.name)
		for _, s := range part.statements {
			fmt.Fprintf(&b, "-- +goose StatementBegin\n%s;\n-- +goose StatementEnd\n", s)
		}
	}
	return map[string]string{version + "_" + m.name + ".sql": b.String()}
}

func golangMigrateFiles(m migration, version string) map[string]string {
	base := version + "_" + m.name
	return map[string]string{base + ".up.sql": script(m.up), base + ".down.sql": script(m.down)}
}

func script(statements []string) string { return strings.Join(append(statements, ""), ";\n") }

// atlasFiles has no file for the way back in the folder itself, because Atlas would run it.
func atlasFiles(m migration, version string) map[string]string {
	head := "-- atlas:delimiter \\n-- end\\n\n"
	if m.alone {
		head = "-- atlas:txmode none\n" + head
	}
	all := func(statements []string) string {
		return head + "\n" + strings.Join(append(statements, ""), "\n-- end\n")
	}
	name := version + "_" + m.name + ".sql"
	return map[string]string{name: all(m.up), filepath.Join("undo", name): all(m.down)}
}

// printSQL prints SQL as text, or as JSON with what object has. If there is a folder, it
// writes a migration instead.
func (a *app) printSQL(m migration, f files, object map[string]any, text string) error {
	if f.dir != "" {
		return a.printFiles([]migration{m}, f)
	}
	object["statements"] = m.up
	return a.print(object, "%s", text)
}

// printFiles writes migrations as files for a tool, and prints their names.
func (a *app) printFiles(migrations []migration, f files) error {
	names, err := writeFiles(migrations, f.dir, f.tool, time.Now())
	if err != nil {
		return err
	}
	return a.print(map[string]any{"files": names}, "%s\n%s\n", strings.Join(names, "\n"), formats[f.tool].hint)
}

// writeFiles writes migrations as files for a tool, and returns their names. If it can't
// write all of them, it writes none.
func writeFiles(migrations []migration, dir, tool string, now time.Time) (names []string, err error) {
	f, ok := formats[tool]
	if !ok {
		return nil, &usageError{fmt.Sprintf("there is no format %q; the formats are goose, golang-migrate and atlas", tool)}
	}
	versions, err := nextVersions(dir, len(migrations), now)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for i, m := range migrations {
		for name, text := range f.files(m, versions[i]) {
			files[filepath.Join(dir, name)] = text
			names = append(names, filepath.Join(dir, name))
		}
	}
	slices.Sort(names)
	for i, name := range names {
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = createFile(name, files[name])
		}
		if err != nil {
			for _, written := range names[:i] {
				err = errors.Join(err, os.Remove(written))
			}
			return nil, fmt.Errorf("writing the files: %w", err)
		}
	}
	return names, nil
}

// createFile writes a file, which must not exist yet. If it can't write all of it, it
// removes the file.
func createFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

var leadingDigits = regexp.MustCompile(`^\d+`)

// nextVersions returns n versions above those that the files in dir already have. They look
// like the existing ones, or are times if there are none.
func nextVersions(dir string, n int, now time.Time) (versions []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	last := ""
	for _, e := range entries {
		digits := leadingDigits.FindString(e.Name())
		if strings.HasSuffix(e.Name(), ".sql") && (len(digits) > len(last) || len(digits) == len(last) && digits > last) {
			last = digits
		}
	}
	const stamp = "20060102150405"
	number, err := strconv.ParseInt(last, 10, 64)
	if last == "" || len(last) == len(stamp) && last < now.UTC().Format(stamp) {
		for i := range n {
			versions = append(versions, now.UTC().Add(time.Duration(i)*time.Second).Format(stamp))
		}
		return versions, nil
	}
	for i := range n {
		versions = append(versions, fmt.Sprintf("%0*d", len(last), number+int64(i)+1))
	}
	return versions, err
}
