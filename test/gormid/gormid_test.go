package gormid_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// These keys are equal as float64, so we notice if anything rounds them.
const (
	idA = 1<<53 + 1
	idB = 1<<53 + 2
)

// A conn is a GORM connection that counts the transactions that are started and the
// statements that are sent.
type conn struct {
	*sql.DB
	begun      atomic.Int64
	statements atomic.Int64
}

func (c *conn) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	c.begun.Add(1)
	tx, err := c.DB.BeginTx(ctx, opts)
	return &connTx{tx, c}, err
}

func (c *conn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.statements.Add(1)
	return c.DB.ExecContext(ctx, query, args...)
}

func (c *conn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.statements.Add(1)
	return c.DB.QueryContext(ctx, query, args...)
}

// GetDBConn is called by GORM to find the underlying database.
func (c *conn) GetDBConn() (*sql.DB, error) { return c.DB, nil }

type connTx struct {
	*sql.Tx
	conn *conn
}

func (c *connTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.conn.statements.Add(1)
	return c.Tx.ExecContext(ctx, query, args...)
}

func (c *connTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.conn.statements.Add(1)
	return c.Tx.QueryContext(ctx, query, args...)
}

// An env is a database that is used through GORM with the plugin.
type env struct {
	*gorm.DB
	conn   *conn
	source *idtest.Source
	about  dbtest.DB
}

func TestMain(m *testing.M) { reuse.Main(m) }

// bare opens GORM, but doesn't install the plugin.
func bare(t testing.TB, about dbtest.DB, models ...any) *env {
	t.Helper()
	return connect(t, about, mysql.Config{}, models...)
}

// connect opens GORM without the plugin. The configuration applies to MySQL and
// MariaDB.
func connect(t testing.TB, about dbtest.DB, cfg mysql.Config, models ...any) *env {
	t.Helper()
	e := &env{conn: &conn{DB: about.Connect(t)}, source: new(idtest.Source), about: about}
	cfg.Conn = e.conn
	dialector := map[string]gorm.Dialector{
		"sqlite":   &sqlite.Dialector{Conn: e.conn},
		"postgres": postgres.New(postgres.Config{Conn: e.conn}),
		"mysql":    mysql.New(cfg),
	}[about.Dialect]
	e.DB = dbtest.Must(gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}))(t)
	migrate(t, e.DB, models...)
	return e
}

// open opens GORM with the plugin and creates the tables of models, but leaves
// Config.Models empty.
func open(t testing.TB, about dbtest.DB, models ...any) *env {
	t.Helper()
	e := bare(t, about)
	use(t, e.DB, gormid.Config{Source: e.source})
	migrate(t, e.DB, models...)
	return e
}

// each runs a test on every database, after it has opened GORM with the plugin.
func each(t *testing.T, models []any, test func(t *testing.T, e *env)) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) { test(t, open(t, about, models...)) })
}

func use(t testing.TB, db *gorm.DB, cfg gormid.Config) {
	t.Helper()
	dbtest.NoError(t, db.Use(gormid.New(cfg)))
}

func migrate(t testing.TB, db *gorm.DB, models ...any) {
	t.Helper()
	if len(models) == 0 {
		return
	}
	dbtest.NoError(t, db.AutoMigrate(models...))
}

// table reads rows without going through GORM, and joins the columns of each with
// spaces.
func (e *env) table(t testing.TB, query string) []string {
	t.Helper()
	return dbtest.Rows(t, e.conn.DB, query)
}

// wantTable checks the result of a query that doesn't go through GORM.
func (e *env) wantTable(t testing.TB, query string, want ...string) {
	t.Helper()
	rowtest.Want(t, e.conn.DB, query, want...)
}

// line formats values as table does.
func line(values ...any) string { return rowtest.Line(values...) }

func (e *env) wipe(t testing.TB, tables ...string) {
	t.Helper()
	for _, name := range tables {
		dbtest.Exec(t, e.conn.DB, "DELETE FROM "+name)
	}
}

// must fails the test if a call that is only part of its setup returns an error.
func must(t testing.TB, tx *gorm.DB) {
	t.Helper()
	dbtest.NoError(t, tx.Error)
}

type user struct {
	ID   pk.ID
	Name string `gorm:"size:40"`
	Age  int
}

func (user) TableName() string { return "users" }
