// Quickstart creates users and their posts in an SQLite file, first through ent and
// then through GORM, and prints the keys of the rows. If you run it again, it adds more
// rows to the same file.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "github.com/glebarez/go-sqlite" // SQLite in pure Go

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

func main() {
	log.SetFlags(0)
	file := flag.String("db", "snowkey-quickstart.db", "the SQLite file")
	flag.Parse()
	if err := quickstart(context.Background(), os.Stdout, *file); err != nil {
		log.Fatal(err)
	}
}

func quickstart(ctx context.Context, out io.Writer, file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	uri := url.URL{Path: path} // the driver expects a URI, in which # or ? would end the path
	db, err := sql.Open("sqlite", "file:"+uri.EscapedPath()+"?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()

	// All keys come from a single pool, and one per process is all you need. The pool
	// leases its worker number from the same database, which makes sure that no other
	// process can have that number at the same time.
	//
	// The first keys of a new file can have a time that is up to Window and
	// MaxClockSkew ahead. We can afford to make both short because the store is on this
	// machine.
	pool, err := snowkey.Open(ctx, sqlstore.SQLite(db), snowkey.Config{Window: time.Second, MaxClockSkew: 100 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("leasing a worker number: %w", err)
	}
	defer pool.Close(ctx)
	idgen.SetDefault(pool)

	rows, err := createWithEnt(ctx, db)
	if err != nil {
		return fmt.Errorf("creating rows with ent: %w", err)
	}
	more, err := createWithGORM(ctx, db)
	if err != nil {
		return fmt.Errorf("creating rows with GORM: %w", err)
	}
	if err := printRows(out, pool.Layout(), append(rows, more...)); err != nil {
		return err
	}
	stored, err := countRows(ctx, db)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%d rows, each with a key of its own, in %s\nlayout %v\n", stored, path, pool.Layout())
	return err
}

// countRows returns the number of rows in the file. Returns an error if two rows have
// the same key.
func countRows(ctx context.Context, db *sql.DB) (rows int, err error) {
	var keys int
	err = db.QueryRowContext(ctx, `SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM users UNION ALL SELECT id FROM posts)`).Scan(&rows, &keys)
	if err == nil && keys != rows {
		err = fmt.Errorf("%d rows have %d keys", rows, keys)
	}
	return rows, err
}
