// Package sqltoken_test tests token/sqltoken in real databases.
package sqltoken_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/tokentest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/token"
	"github.com/snowkey-go/snowkey/token/sqltoken"
)

// of returns a store that uses the default table in the database of conn.
func of(db dbtest.DB, conn *sql.DB) *sqltoken.Store {
	return map[string]func(*sql.DB) *sqltoken.Store{
		"postgres": sqltoken.Postgres, "mysql": sqltoken.MySQL, "sqlite": sqltoken.SQLite,
	}[db.Dialect](conn)
}

func open(t *testing.T, db dbtest.DB, conn *sql.DB) *sqltoken.Store {
	t.Helper()
	store := of(db, conn)
	dbtest.NoError(t, store.Migrate(t.Context()))
	return store
}

// TestStore runs the conformance suite with a table for each property. Test/sqlstore also
// does so with connections that have other settings.
func TestStore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn, tables := db.Connect(t), 0
		conn.SetMaxIdleConns(32) // one for each session of the suite
		tokentest.Run(t, func(t *testing.T) token.Store {
			tables++
			store := dbtest.Must(of(db, conn).WithTable(fmt.Sprint("session", tables)))(t)
			dbtest.NoError(t, store.Migrate(t.Context()))
			return store
		}, nil)
	})
}

// A bench has a signer whose clock only moves when the test sets it.
type bench struct {
	*token.Signer
	pool *idgen.Pool
	now  time.Time
}

// A process remembers the last id of each worker number, so each bench gets a new one.
var benches atomic.Int64

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{now: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return b.now }
	keys := dbtest.Must(token.ParseKeys(tokentest.Keys))(t)
	b.pool = dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(100 + benches.Add(1)), Clock: clock, MaxAhead: time.Minute}))(t)
	t.Cleanup(func() { b.pool.Close(context.Background()) })
	b.Signer = dbtest.Must(token.New(token.Config{Keys: keys, IDs: b.pool, Clock: clock}))(t)
	return b
}

// login issues a token and adds it for a user.
func (b *bench) login(t *testing.T, store token.Store, user int64) token.Token {
	t.Helper()
	issued := dbtest.Must(b.Issue(t.Context()))(t)
	dbtest.NoError(t, store.Add(t.Context(), issued, user))
	return issued
}

// request verifies a token and looks up the user.
func (b *bench) request(t *testing.T, store token.Store, issued token.Token) (int64, error) {
	t.Helper()
	verified, err := b.Verify(issued.Text())
	if err != nil {
		return 0, err
	}
	return store.User(t.Context(), verified)
}

// TestRevocationInAnOldTransaction leaves a connection in a transaction that began before
// the session did. Revoke must not believe that the session does not exist.
func TestRevocationInAnOldTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	b, fresh, stale := newBench(t), db.Connect(t), db.Connect(t)
	store := open(t, db, fresh)
	stale.SetMaxOpenConns(1)
	dbtest.NoError(t, of(db, stale).Revoke(t.Context(), 7, 1)) // inspects the table
	dbtest.Exec(t, stale, "START TRANSACTION", "SELECT count(*) FROM snowkey_session")
	issued := b.login(t, store, 7)
	var seen int
	if err := stale.QueryRow("SELECT count(*) FROM snowkey_session").Scan(&seen); err != nil || seen != 0 {
		t.Fatalf("the old transaction sees %d sessions, %v, so that this test shows nothing", seen, err)
	}
	dbtest.NoError(t, of(db, stale).Revoke(t.Context(), 7, issued.ID))
	if user, err := b.request(t, store, issued); !errors.Is(err, token.ErrEnded) {
		t.Errorf("after Revoke returned, the session is of user %d, %v", user, err)
	}
}

// TestReadsWithoutAutocommit revokes a session after a connection without autocommit has
// read it. The next read must not be part of the same transaction.
func TestReadsWithoutAutocommit(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	b, conn := newBench(t), db.With("autocommit=0").Connect(t)
	conn.SetMaxOpenConns(1)
	store, reader := open(t, db, db.Connect(t)), of(db, conn)
	issued := b.login(t, store, 7)
	if user, err := b.request(t, reader, issued); user != 7 || err != nil {
		t.Fatal(user, err)
	}
	dbtest.NoError(t, store.Revoke(t.Context(), 7, issued.ID))
	if user, err := b.request(t, reader, issued); !errors.Is(err, token.ErrEnded) {
		t.Errorf("after it was revoked, the session is of user %d, %v", user, err)
	}
}

// TestWhatIsStored reads everything in the table.
func TestWhatIsStored(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		b, conn := newBench(t), db.Connect(t)
		store := open(t, db, conn)
		issued := b.login(t, store, 7)
		want := fmt.Sprintf("%d 7 %s %d %d 2", issued.ID, issued.Hash(), b.now.UnixMilli(), issued.Expires.UnixMilli())
		if rows := dbtest.Rows(t, conn, "SELECT * FROM snowkey_session"); !slices.Equal(rows, []string{want}) {
			t.Errorf("the table has %q, want %q", rows, want)
		}
		if strings.Contains(want, issued.Text()) {
			t.Error("the hash is the token")
		}
	})
}

// TestTimeOfUse checks that requests write only once in an eighth of the idle timeout.
func TestTimeOfUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		b, conn := newBench(t), db.Connect(t)
		store := open(t, db, conn)
		issued := b.login(t, store, 7)
		start, eighth := b.now, 30*time.Minute/8
		for _, tt := range []struct{ after, seen time.Duration }{
			{eighth - time.Millisecond, 0}, {eighth, eighth}, {2*eighth - time.Millisecond, eighth}, {3 * eighth, 3 * eighth},
			{2 * eighth, 3 * eighth}, // by the clock of another process, which is behind
		} {
			b.now = start.Add(tt.after)
			if user, err := b.request(t, store, issued); user != 7 || err != nil {
				t.Fatal(user, err)
			}
			want := fmt.Sprint(start.Add(tt.seen).UnixMilli())
			if rows := dbtest.Rows(t, conn, "SELECT seen FROM snowkey_session"); rows[0] != want {
				t.Errorf("after %v, seen is %s, want %s", tt.after, rows[0], want)
			}
		}
	})
}

// TestCleanup removes more sessions than a statement does, and none that has not expired.
// Sessions of 30 days are in the same table, as in a program that lets users stay logged in.
func TestCleanup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		b, conn := newBench(t), db.Connect(t)
		store, start := open(t, db, conn), b.now
		old := dbtest.Must(b.pool.NextN(t.Context(), 2100))(t)
		tx := dbtest.Must(conn.Begin())(t)
		for _, id := range old {
			dbtest.Must(tx.Exec(fmt.Sprintf("INSERT INTO snowkey_session (id, user_id, hash, seen, expires) VALUES (%d, 1, 'x', 1, 1)", id)))(t)
		}
		dbtest.NoError(t, tx.Commit())
		keys := dbtest.Must(token.ParseKeys(tokentest.Keys))(t)
		days := dbtest.Must(token.New(token.Config{Keys: keys, IDs: b.pool, TTL: 30 * 24 * time.Hour, Idle: -1, Clock: func() time.Time { return b.now }}))(t)
		long := dbtest.Must(days.Issue(t.Context()))(t)
		dbtest.NoError(t, store.Add(t.Context(), long, 7))
		b.login(t, store, 7)
		b.now = b.now.Add(time.Millisecond)
		second := b.login(t, store, 8)
		const end = 12*time.Hour + time.Minute // sessions are kept for a minute after they have expired
		for _, tt := range []struct {
			after time.Duration
			left  []token.Token
		}{{end + time.Millisecond, []token.Token{long, second}}, {end + 2*time.Millisecond, []token.Token{long}}, {30*24*time.Hour - time.Minute, []token.Token{long}}, {30*24*time.Hour + time.Hour, nil}} {
			b.now = start.Add(tt.after)
			if _, err := b.Verify(second.Text()); !errors.Is(err, token.ErrExpired) {
				t.Errorf("after %v, the token gives %v", tt.after, err)
			}
			dbtest.NoError(t, store.Cleanup(t.Context(), b.now))
			var want []string
			for _, session := range tt.left {
				want = append(want, fmt.Sprint(session.ID))
			}
			if ids := dbtest.Rows(t, conn, "SELECT id FROM snowkey_session ORDER BY id"); !slices.Equal(ids, want) {
				t.Errorf("after %v, %d sessions are left, such as %s; want %s", tt.after, len(ids), ids[:min(len(ids), 3)], want)
			}
		}
	})
}

// TestCleanupUsesAnIndex looks at the plans of the range that Cleanup deletes.
func TestCleanupUsesAnIndex(t *testing.T) {
	t.Parallel()
	const query = "SELECT id FROM snowkey_session WHERE expires < 1700000000001 ORDER BY expires LIMIT 1000"
	for dialect, tt := range map[string]struct{ explain, want string }{
		"postgres": {"EXPLAIN ", "snowkey_session_expires_id_key"},
		"sqlite":   {"EXPLAIN QUERY PLAN ", "COVERING INDEX sqlite_autoindex_snowkey_session_2 (expires<?)"},
		"mysql":    {"EXPLAIN ", "expires"},
	} {
		t.Run(dialect, func(t *testing.T) {
			db := dbtest.Open(t, dialect)
			if dialect == "postgres" { // the table is empty, so it might as well read all of it
				db = db.With("enable_seqscan=off")
			}
			conn := db.Connect(t)
			open(t, db, conn)
			if plan := strings.Join(dbtest.Rows(t, conn, tt.explain+query), "\n"); !strings.Contains(plan, tt.want) {
				t.Errorf("the plan is\n%s", plan)
			}
		})
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		b, conn := newBench(t), db.Connect(t)
		store := of(db, conn)
		if user, err := store.User(t.Context(), dbtest.Must(b.Issue(t.Context()))(t)); err == nil || !strings.Contains(err.Error(), "snowkey_session") {
			t.Errorf("without a table: %d, %v", user, err)
		}
		errs := make(chan error)
		for range 8 {
			go func() { errs <- store.Migrate(t.Context()) }()
		}
		for range 8 {
			dbtest.NoError(t, <-errs)
		}
		b.login(t, store, 7)
		dbtest.Must(conn.Exec("ALTER TABLE snowkey_session RENAME TO other"))(t)
		dbtest.Must(conn.Exec("CREATE TABLE snowkey_session (id BIGINT PRIMARY KEY, protocol BIGINT NOT NULL DEFAULT 3)"))(t)
		_, err := errors.AsType[*lease.VersionError](of(db, conn).Migrate(t.Context()))
		if !err {
			t.Error("Migrate accepts a table of another version")
		}
	})
}

func TestStoreWithoutADatabase(t *testing.T) {
	t.Parallel()
	issued, store := dbtest.Must(newBench(t).Issue(t.Context()))(t), sqltoken.Postgres(nil)
	_, used := store.User(t.Context(), issued)
	for i, err := range []error{
		used, store.Migrate(t.Context()), store.Add(t.Context(), issued, 7), store.Revoke(t.Context(), 7, 7),
		store.RevokeUser(t.Context(), 7), store.Cleanup(t.Context(), time.Now()),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "sqltoken: there is no database") {
			t.Errorf("method %d: %v", i, err)
		}
	}
	if _, err := sqltoken.SQLite(new(sql.DB)).WithTable("a b"); err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("the name of a table: %v", err)
	}
}
