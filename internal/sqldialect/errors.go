package sqldialect

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
)

// SQLState returns the SQLSTATE of a driver's error for PostgreSQL, or "".
func SQLState(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}

// Number returns the number of a MySQL error, or 0 if err isn't an error of
// go-sql-driver/mysql. It uses reflection to read the field Number of the driver's
// error type, so that we don't have to import the driver.
func Number(err error) uint16 {
	for err != nil {
		v := reflect.ValueOf(err)
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			if f := v.FieldByName("Number"); f.IsValid() && f.Kind() == reflect.Uint16 {
				return uint16(f.Uint())
			}
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if n := Number(e); n != 0 {
					return n
				}
			}
			return 0
		}
		err = errors.Unwrap(err)
	}
	return 0
}

// Conflict reports whether the database has rolled back a statement because of another
// one, so that it can be run again.
func Conflict(err error) bool {
	switch Number(err) {
	case 1213, // a deadlock; on Galera also a conflict with a commit on another server
		1020,             // MariaDB: the row has changed since the snapshot
		3101,             // Group Replication: a conflict with a commit on another server
		8002, 8022, 9007: // TiDB: a conflict with another transaction
		return true
	}
	state := SQLState(err)
	return state == "40001" || state == "40P01" // the second one is a deadlock
}

// Busy reports whether a statement did not get a lock in time that another one holds.
func Busy(err error) bool {
	return SQLState(err) == "55P03" || Number(err) == 1205 || err != nil && sqliteBusy.MatchString(err.Error())
}

// sqliteBusy finds how SQLite and its drivers say that.
var sqliteBusy = regexp.MustCompile(`database (table )?is locked|SQLITE_BUSY`)

// ReadOnly reports whether the server or the session accepts no writes, perhaps because
// another server has become the primary.
func ReadOnly(err error) bool {
	switch Number(err) {
	case 1290, 1792, 1836:
		return true
	}
	return SQLState(err) == "25006"
}

// HasLeft reports whether err means that the server isn't in the part of its cluster that
// has the majority, so that other servers of the cluster may go on without it.
func HasLeft(err error) bool {
	switch Number(err) {
	case 1047, // Galera: the server is not ready, or not in the primary component
		1180,             // Galera: it left the primary component during the commit
		1231,             // Group Replication: the member is read-only, see lease/sqlstore
		3796, 3797, 3798: // Group Replication: the member cannot wait for the others
		return true
	}
	return false
}

// Unknown reports whether err means that the server doesn't have, or doesn't show to
// this role, a variable, a function or a catalog that a statement reads. The tables of a
// store are not among these; see [Dialect.Missing].
func (d Dialect) Unknown(err error) bool {
	switch {
	case d == Postgres:
		switch text := err.Error(); SQLState(err) {
		case "42883", "42704": // no such function; no such type or setting
			return true
		case "0A000": // not supported, which PostgreSQL also says of a cached plan
			return strings.Contains(text, "unimplemented")
		case "42501", "42P01": // no privilege; no such table
			return strings.Contains(text, " pg_") || strings.Contains(text, `"pg_`)
		case "42703": // no such column
			return systemColumn.MatchString(text)
		}
	case d.IsMySQL():
		switch Number(err) {
		case 1193, 1109, 1305: // no such variable; no such table of the information schema; no such function
			return true
		case 1142, 1146: // no privilege; no such table
			return clusterTable.MatchString(err.Error())
		}
	}
	return false
}

// clusterTable finds the tables in which a server describes its cluster.
var clusterTable = regexp.MustCompile(`wsrep_cluster|replication_group_member|global_variable`)

// systemColumn finds the names of the catalogs' columns that we read. They begin with
// letters that depend on the catalog.
var systemColumn = regexp.MustCompile(`\b(xm[a-z]+|rel[a-z]+|att[a-z]+|ad[a-z]+|tg[a-z]+|ev_[a-z]+)\b`)

// Missing reports whether err means that a table, or its schema, doesn't exist.
func (d Dialect) Missing(err error) bool {
	switch {
	case d == Postgres:
		state := SQLState(err)
		return (state == "42P01" || state == "3F000") && !d.Unknown(err)
	case d.IsMySQL():
		// MySQL returns the same error when it can't create an internal temporary table.
		return Number(err) == 1146 && !d.Unknown(err) && !strings.Contains(err.Error(), "/#sql")
	}
	return strings.Contains(err.Error(), "no such table")
}
