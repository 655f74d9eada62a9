package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// An engine is a kind of database server.
type engine struct {
	name    string // the dialect
	driver  string // for sql.Open
	env     string // the variable that holds a DSN
	example string // a DSN for the message about that variable
	needs   string // the programs of a private server, for the same message
	pack    string // the package of Debian and Ubuntu
	account string // the account which that package makes for the server
	compose string // the DSN of the service of that name in docker-compose.yml

	// find returns how to run a server with the programs that look finds.
	find func(look finder) (installation, bool)
	// describe reads a server's version, and whether it is MariaDB.
	describe func(ctx context.Context, db *sql.DB) (version string, mariaDB bool, err error)
	// withDatabase returns dsn with another database in it.
	withDatabase func(dsn, database string) (string, error)
	// addressOf returns where the server of dsn listens, as net.Dial wants it.
	addressOf func(dsn string) (network, address string, err error)
	// withAddress returns dsn with another server in it, which listens there by TCP.
	withAddress func(dsn, address string) (string, error)
	createSQL   func(database string) string
	dropSQL     func(database string) string
}

// A finder returns the paths of the named programs, all of them or none, from
// PATH or else from the first directory that matches one of the patterns.
type finder func(patterns []string, names ...string) (paths []string, ok bool)

// An installation is how to run a private server with programs found here.
type installation struct {
	initialise func(data string) []string
	serve      func(dir, data string, port int, durable bool) []string
	// setting returns the arguments that give a variable ("name=value") its value.
	// The last of several values counts.
	setting func(variable string) []string
	dsn     func(port int) string
	// dataSQL selects the data directory of the server. It proves that the server on
	// the port is the one that this process started. It is empty if the DSN names a
	// database that no other server has.
	dataSQL string
	quit    string // the signal for an immediate end
}

// with returns in with settings, each "name=value", after its own.
func (in installation) with(settings []string) installation {
	serve := in.serve
	in.serve = func(dir, data string, port int, durable bool) []string {
		args := serve(dir, data, port, durable)
		for _, s := range settings {
			args = append(args, in.setting(s)...)
		}
		return args
	}
	return in
}

func engineOf(dialect string) (engine, error) {
	for _, e := range []engine{postgres, mysql} {
		if e.name == dialect {
			return e, nil
		}
	}
	return engine{}, fmt.Errorf("dbtest: %q is not a database server; use postgres or mysql", dialect)
}

// connect checks that a server answers and returns it with its version.
func (e engine) connect(dsn, origin string) (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	db, err := sql.Open(e.driver, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	version, mariaDB, err := e.describe(ctx, db)
	if err != nil {
		return nil, err
	}
	return &server{engine: e, dsn: dsn, version: version, mariaDB: mariaDB, origin: origin, stop: func() {}}, nil
}

// number cuts a version such as "15.18 (Debian 15.18-0+deb12u1)" or
// "10.11.19-MariaDB-0+deb12u1" down to the number.
func number(version string) string {
	if i := strings.IndexAny(version, " -"); i >= 0 {
		return version[:i]
	}
	return version
}
