package protocol_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A program is a binary that was built for one version.
type program struct{ path, version string }

// build builds the program for both the current and the next version.
var build = sync.OnceValues(func() ([2]program, error) {
	dir, err := os.MkdirTemp("", "snowkey-protocol-")
	if err != nil {
		return [2]program{}, err
	}
	programs := [2]program{{filepath.Join(dir, "today"), "2"}, {filepath.Join(dir, "next"), "3"}}
	for i, tags := range []string{"", "snowkey_next_protocol"} {
		out, err := exec.Command("go", "build", "-tags", tags, "-o", programs[i].path, "./testdata/program").CombinedOutput()
		if err != nil {
			return programs, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	return programs, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8") // whatever the number of processors, since these tests mostly wait
	code := m.Run()
	if programs, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(programs[0].path))
	}
	os.Exit(code)
}

func (p program) command(db dbtest.DB, what string) *exec.Cmd {
	cmd := exec.Command(p.path, what)
	cmd.Env = append(os.Environ(), "DIALECT="+db.Dialect, "DRIVER="+db.Driver, "DSN="+db.DSN)
	cmd.Stderr = os.Stderr
	return cmd
}

// run returns the output of the program.
func (p program) run(t *testing.T, db dbtest.DB, what string) string {
	t.Helper()
	out, err := p.command(db, what).Output()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return strings.TrimSpace(string(out))
}

// refused fails the test unless the output says that the program has refused a version.
func refused(t *testing.T, what, out, found string) {
	t.Helper()
	for _, want := range []string{"error: ", "has protocol version " + found, "use a release of Snowkey with version " + found} {
		if !strings.Contains(out, want) || strings.Contains(out, "too late") {
			t.Errorf("%s: %s", what, out)
			return
		}
	}
}

// Two programs of different versions must refuse each other's tables, and must not
// write anything to them.
func TestTablesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	programs, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		for i, first := range programs {
			second := programs[1-i]
			if i > 0 {
				if db.Dialect != "sqlite" && !dbtest.Nightly {
					break // the statements are the same
				}
				db = dbtest.Open(t, db.Dialect)
			}
			conn := db.Connect(t)
			for _, what := range []string{"lease", "segment"} {
				if out := first.run(t, db, what); out != "done" {
					t.Fatalf("version %s, %s: %s", first.version, what, out)
				}
			}
			content := func() (all []string) {
				for _, query := range []string{
					"SELECT * FROM snowkey_lease ORDER BY namespace, worker", "SELECT * FROM snowkey_lease_ns ORDER BY namespace, position",
					"SELECT * FROM snowkey_segment ORDER BY name",
				} {
					all = append(all, dbtest.Rows(t, conn, query)...)
				}
				return all
			}
			before := content()
			var wg sync.WaitGroup
			for _, what := range []string{
				"lease", "lease without migration", "lease of another name", "lease of another name without migration", "fence", "doctor",
				"segment", "segment without migration", "segment of another name", "segment of another name without migration",
			} {
				wg.Go(func() { refused(t, what, second.run(t, db, what), first.version) })
			}
			wg.Wait()
			if after := content(); len(before) < 4 || !slices.Equal(before, after) {
				t.Errorf("version %s changed the tables of version %s:\n%s\n%s", second.version, first.version, strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			if out := first.run(t, db, "lease"); out != "done" {
				t.Errorf("afterwards: %s", out)
			}
		}
	})
}

func TestFilesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	programs, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for i, first := range programs {
		second := programs[1-i]
		db := dbtest.DB{Dialect: "file", DSN: t.TempDir()}
		if out := first.run(t, db, "lease"); out != "done" {
			t.Fatalf("version %s: %s", first.version, out)
		}
		content := func() (all []string) {
			names, err := filepath.Glob(filepath.Join(db.DSN, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, name, string(text))
			}
			return all
		}
		before := content()
		for _, what := range []string{"lease", "lease without migration", "fence", "doctor"} {
			refused(t, what, second.run(t, db, what), first.version)
		}
		if after := content(); len(before) < 2 || !slices.Equal(before, after) {
			t.Errorf("version %s changed the files of version %s:\n%s\n%s", second.version, first.version, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
	}
}

// While a process is running, another version takes over its tables. From then on, the
// process must not write anything, and must say why.
func TestVersionChangesUnderALease(t *testing.T) {
	t.Parallel()
	programs, err := build()
	if err != nil {
		t.Fatal(err)
	}
	today := programs[0]
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		for _, tables := range [][]string{{"snowkey_lease_ns"}, {"snowkey_lease"}, {"snowkey_lease", "snowkey_lease_ns"}} {
			t.Run(strings.Join(tables, " and "), func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, db.Dialect)
				conn := db.Connect(t)
				cmd := today.command(db, "held lease")
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				pipe, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Wait()
				defer in.Close()
				out := bufio.NewReader(pipe)
				if line, err := out.ReadString('\n'); err != nil || line != "held\n" {
					t.Fatal(line, err)
				}
				time.Sleep(500 * time.Millisecond) // long enough for a renewal
				for _, table := range tables {
					if _, err := conn.Exec("UPDATE " + table + " SET protocol = 3"); err != nil {
						t.Fatal(err)
					}
				}
				content := func() []string {
					return append(dbtest.Rows(t, conn, "SELECT * FROM snowkey_lease ORDER BY worker"), dbtest.Rows(t, conn, "SELECT * FROM snowkey_lease_ns")...)
				}
				before := content()
				rest, err := io.ReadAll(out)
				if err != nil {
					t.Fatal(err)
				}
				if text := string(rest); !strings.Contains(text, "lost worker") || !strings.Contains(text, "migrated to another version") ||
					!strings.Contains(text, "has protocol version 3") {
					t.Errorf("the process said: %s", text)
				}
				if after := content(); !slices.Equal(before, after) {
					t.Errorf("it changed the tables:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
				}
			})
		}
	})
}
