package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"database/sql"
	"errors"

	"golang.org/x/crypto/argon2"

	"github.com/snowkey-go/snowkey/idgen"
)

type users struct {
	db  *sql.DB
	ids *idgen.Pool
}

func (u *users) migrate(ctx context.Context) error {
	// Two replicas that create the table at the same time would disturb each other.
	_, err := u.db.ExecContext(ctx, `DO $$ BEGIN
	PERFORM pg_advisory_xact_lock(7350913);
	CREATE TABLE IF NOT EXISTS users (id bigint PRIMARY KEY, name text NOT NULL UNIQUE, salt bytea NOT NULL, hash bytea NOT NULL);
END $$`)
	return err
}

// hash returns the Argon2id hash of a password, with the parameters that OWASP's Password
// Storage Cheat Sheet names as a minimum.
func hash(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, 2, 19*1024, 1, 32)
}

func newSalt() []byte {
	salt := make([]byte, 16)
	rand.Read(salt)
	return salt
}

// create returns the id of a new user.
func (u *users) create(ctx context.Context, name, password string) (int64, error) {
	id, err := u.ids.Next(ctx)
	if err != nil {
		return 0, err
	}
	salt := newSalt()
	_, err = u.db.ExecContext(ctx, "INSERT INTO users (id, name, salt, hash) VALUES ($1, $2, $3, $4)", id, name, salt, hash(password, salt))
	return id, err
}

func (u *users) setPassword(ctx context.Context, id int64, password string) error {
	salt := newSalt()
	_, err := u.db.ExecContext(ctx, "UPDATE users SET salt = $2, hash = $3 WHERE id = $1", id, salt, hash(password, salt))
	return err
}

var errWrong = errors.New("the name or the password is wrong")

// check returns the user with this name and password. It takes as long if there is no
// such user, because the time would otherwise reveal which names exist.
func (u *users) check(ctx context.Context, name, password string) (int64, error) {
	var id int64
	salt, want := make([]byte, 16), make([]byte, 32)
	err := u.db.QueryRowContext(ctx, "SELECT id, salt, hash FROM users WHERE name = $1", name).Scan(&id, &salt, &want)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if subtle.ConstantTimeCompare(hash(password, salt), want) == 0 || err != nil {
		return 0, errWrong
	}
	return id, nil
}

func (u *users) name(ctx context.Context, id int64) (name string, err error) {
	err = u.db.QueryRowContext(ctx, "SELECT name FROM users WHERE id = $1", id).Scan(&name)
	return name, err
}
