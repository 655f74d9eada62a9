// Services shows two services with a database each, whose ids never meet as equals. Each
// leases its worker numbers from its own database, but only those of its range in
// fleet.txt. All services have the same copy of this file.
//
//	go run ./examples/services
package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

//go:embed fleet.txt
var fleet string

// open leases a worker number for a process of a service from the service's database.
func open(ctx context.Context, service string, db *sql.DB) (*idgen.Pool, error) {
	cfg, err := snowkey.Config{}.ForService(fleet, service)
	if err != nil {
		return nil, err
	}
	return snowkey.Open(ctx, sqlstore.SQLite(db), cfg)
}

func main() {
	dir, err := os.MkdirTemp("", "services-")
	if err == nil {
		err = errors.Join(services(context.Background(), os.Stdout, dir), os.RemoveAll(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// services makes ids in two services, which would be two programs on their own hosts.
func services(ctx context.Context, out io.Writer, dir string) error {
	for _, service := range []string{"orders", "payments"} {
		if err := makeIDs(ctx, out, service, filepath.Join(dir, service+".db")); err != nil {
			return fmt.Errorf("%s: %w", service, err)
		}
	}
	return nil
}

func makeIDs(ctx context.Context, out io.Writer, service, path string) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ids, err := open(ctx, service, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ids.Close(ctx)) }()
	batch, err := ids.Append(ctx, nil, 3)
	if err != nil {
		return err
	}
	worker, _ := ids.Worker()
	_, err = fmt.Fprintf(out, "%s has worker number %d and makes %d\n", service, worker, batch)
	return err
}
