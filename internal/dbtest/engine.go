package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"time"
)

// An engine is a kind of database server.
type engine struct {
	name    string // the dialect
	driver  string // for sql.Open
	env     string // the variable that holds a DSN
	example string // a DSN for the error message, to show what env should contain
	needs   string // the programs of a private server, for the same message
	pack    string // the Debian and Ubuntu packages that have them
	account string // the account that the package creates for the server
	compose string // the DSN of the service called name in docker-compose.yml

	// find returns how to run a server with the programs of this machine.
	find func() (in installation, ok bool)
	// versions are those that a run can choose with the variable env + "_VERSION". They
	// are fetched, and used instead of what find returns.
	versions map[string]version
	// describe reads the server's version, and whether the server is MariaDB.
	describe func(ctx context.Context, db *sql.DB) (version string, mariaDB bool, err error)
	// withDatabase returns dsn with its database replaced.
	withDatabase func(dsn, database string) (string, error)
	// addressOf returns the network and address of dsn's server, as net.Dial expects
	// them.
	addressOf func(dsn string) (network, address string, err error)
	// withAddress returns dsn with its server replaced by the one at a TCP address.
	withAddress func(dsn, address string) (string, error)
	createSQL   func(version, database string) string
	dropSQL     func(database string) string
}

// An installation describes how to run a private server with programs of this machine.
type installation struct {
	initialise func(data string) []string
	serve      func(dir, data string, port int, durable bool) []string
	// setting returns the arguments that set a variable, given as "name=value". If a
	// variable is set more than once, the last value wins.
	setting func(variable string) []string
	dsn     func(port int) string
	// dataSQL selects the server's data directory, by which we can tell that the server
	// listening on the port is really the one that we started.
	dataSQL string
	quit    string // the signal that makes the server exit immediately
}

// programs returns how to run a private server. It fetches the programs if necessary.
func (e engine) programs(version string) (in installation, err error) {
	if version != "" {
		return e.fetchVersion(version)
	}
	err = obtain(e.pack, e.needs, func() (ok bool) {
		in, ok = e.find()
		return ok
	})
	return in, err
}

// chosen returns the version that the run has chosen, or an empty string.
func (e engine) chosen() string { return os.Getenv(e.env + "_VERSION") }

func engineOf(dialect string) (engine, error) {
	for _, e := range []engine{postgres, mysql} {
		if e.name == dialect {
			return e, nil
		}
	}
	return engine{}, fmt.Errorf("dbtest: %q is not a database server; use postgres or mysql", dialect)
}

// connect checks that a server answers, and returns it along with its version.
func (e engine) connect(dsn, origin string) (*Server, error) {
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
	return &Server{engine: e, dsn: dsn, version: version, mariaDB: mariaDB, origin: origin, stop: func() {}}, nil
}

// number cuts a version such as "15.18 (Debian 15.18-0+deb12u1)" or
// "10.11.19-MariaDB-0+deb12u1" down to just the number.
func number(version string) string {
	if i := strings.IndexAny(version, " -"); i >= 0 {
		return version[:i]
	}
	return version
}
