// Package sqlgen generates SQL that makes ids in a database.
package sqlgen

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A Writer describes a function that makes ids in a database, for the default of a
// column. The ids have a worker number of their own, which no process can lease from the
// lease tables of the same database. So they never equal an id of a process.
//
// The zero Writer is ready to use. Its times and namespace must be the same as in the
// snowkey.Config of the processes.
type Writer struct {
	// Layout defaults to idgen.DefaultLayout(). It must have a worker field, and ticks
	// of whole microseconds, up to one second.
	Layout idgen.Layout

	// Namespace defaults to "default".
	Namespace string

	// Worker is the worker number. If it is 0, it is the largest one of the layout.
	// When the SQL is executed, no process may hold the number. It stays reserved.
	Worker int64

	// Schema is the schema of the functions, the sequences and the lease tables.
	// Defaults to "public".
	Schema string

	// Table is the name of the lease table, without a schema. Defaults to
	// "snowkey_lease".
	Table string

	// Name is the name of the function. Defaults to "snowkey_next". Use another name
	// for a second namespace.
	Name string

	// Window and MaxClockSkew have the meaning and the defaults of the fields with the
	// same names in snowkey.Config.
	Window, MaxClockSkew time.Duration
}

//go:embed writer_postgres.sql
var postgresWriter string

// neverExpires is when the lease of a reserved row ends, in microseconds since 1970: in
// 2200. A later time would overflow the calculations of processes that wait for a row.
const neverExpires = 7258118400000000

// maxSessions is larger than the number of sessions that PostgreSQL allows. A tick of
// the counter has at least as much room behind the numbers that become ids.
const maxSessions = 1 << 18

// lag is how long ago the tick of an id may have ended. Entering a tick costs more than
// drawing from one, and other sessions then wait. So sessions that insert row by row do
// not enter each millisecond.
const lag = 50 * time.Millisecond

// Dialects are the names that [Writer.Statements] accepts.
var Dialects = []string{"postgres", "mysql", "mariadb"}

// Statements are what a Writer prints for a database.
type Statements struct {
	// Create has the statements that create the lease tables if they are missing, reserve the
	// worker number, and create the functions. All of them can be executed again.
	//
	// PostgreSQL must be 15 or later, and they need a role that owns the lease tables and may
	// execute pg_control_system(). MariaDB must be 10.6 or later, and MySQL 8.0 or later. There,
	// they must be executed in the database of the lease tables, and Schema must be empty. If
	// MySQL has a binary log, creating the function needs SUPER, or
	// log_bin_trust_function_creators. Neither can call a function in the default of a column,
	// so each table needs a trigger, which makes ids with the privileges of its creator.
	Create []string

	// Grant has those that allow a role to make ids. It needs nothing else. It can neither use
	// the sequences nor read the lease tables.
	Grant []string

	// Drop has those that remove the functions. The worker number stays reserved, because
	// processes must not make the ids that the functions made. The counter stays too. It
	// remembers these ids, in case the functions are created again.
	Drop []string
}

// Statements returns the statements for one of the [Dialects]. The role, which may be "", is
// one of PostgreSQL, or a user of MariaDB or MySQL such as app@%.
func (w Writer) Statements(dialect, role string) (s Statements, err error) {
	next := sqldialect.MySQL.Quote(w.name())
	s.Drop = []string{"DROP FUNCTION " + next}
	s.Grant = []string{fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s TO %s", next, sqldialect.MySQLAccount(role))}
	switch dialect {
	case "postgres":
		of := func(part string) string { return sqldialect.Postgres.Table(w.schema() + "." + w.name() + part) }
		to, next := sqldialect.Postgres.Quote(role), of("")
		s.Drop = []string{fmt.Sprintf("DROP FUNCTION %s(), %s(bigint), %s(), %s(bigint), %s(bigint, bigint)", next, next, of("_ready"), of("_enter"), of("_enter"))}
		s.Grant = []string{
			fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", sqldialect.Postgres.Table(w.schema()), to),
			fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s(), %s(bigint) TO %s", next, next, to),
		}
		s.Create, err = w.postgres()
	case "mysql":
		s.Create, err = w.mysql()
	case "mariadb":
		s.Drop = append(s.Drop, "DROP FUNCTION "+sqldialect.MySQL.Quote(w.name()+"_enter"))
		s.Create, err = w.mariaDB()
	}
	if role == "" {
		s.Grant = nil
	}
	return s, err
}

func (w Writer) postgres() ([]string, error) {
	words, err := w.words()
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.Postgres(nil).WithTable(w.schema() + "." + w.table())
	if err != nil {
		return nil, fmt.Errorf("sqlgen: Table: %w", err)
	}
	statements := sqldialect.Statements(words.Replace(pgOperators.Replace(postgresWriter)))
	return slices.Insert(statements, 1, store.DDL()...), nil // the first one refuses an old server
}

func (w Writer) layout() idgen.Layout {
	if w.Layout.IsZero() {
		return idgen.DefaultLayout()
	}
	return w.Layout
}

func (w Writer) schema() string { return cmp.Or(w.Schema, "public") }
func (w Writer) table() string  { return cmp.Or(w.Table, "snowkey_lease") }
func (w Writer) name() string   { return cmp.Or(w.Name, "snowkey_next") }

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func n(v int64) string { return strconv.FormatInt(v, 10) }

// values are what the SQL of all databases contains.
type values struct {
	sequence                              int // bits
	timeShift, workerShift, sequenceShift int
	worker                                int64
	fixed                                 int64 // the bits of the fixed fields
	last                                  int64 // the last tick
	room                                  int   // the bits below the tick in the counter
	epoch, unit                           int64 // microseconds
	namespace, layout                     string
	window, skew                          time.Duration
}

// values returns an error for a Writer that can't make ids. In the counter, a tick has room for
// a number of each session behind those that become ids.
func (w Writer) values(sessions uint64) (values, error) {
	l := w.layout()
	v := values{epoch: l.Epoch().UnixMicro(), unit: l.Unit().Microseconds()}
	shift, workerBits := 0, 0
	for _, f := range slices.Backward(l.Fields()) {
		switch {
		case f.Fixed:
			v.fixed |= f.Value << shift
		case f.Name == "time":
			v.timeShift = shift
		case f.Name == "worker":
			workerBits, v.workerShift = f.Bits, shift
		case f.Name == "sequence":
			v.sequence, v.sequenceShift = f.Bits, shift
		}
		shift += f.Bits
	}
	switch {
	case workerBits == 0:
		return v, errors.New("sqlgen: Layout has no worker field, so ids of SQL would equal those of processes; use a layout with one")
	case l.Unit() > time.Second:
		return v, fmt.Errorf("sqlgen: Layout has ticks of %v; after a failover, ids would have to wait for the next tick; use ticks of a second or less", l.Unit())
	case l.Unit()%time.Microsecond != 0 || l.Epoch().Nanosecond()%1000 != 0:
		return v, fmt.Errorf("sqlgen: Layout has ticks of %v since %s, and the database's clock has microseconds; use whole microseconds", l.Unit(), l.Epoch().Format(time.RFC3339Nano))
	}
	v.last = (l.Lifetime().End.UnixMicro()-v.epoch)/v.unit - 1
	v.room = max(v.sequence+1, bits.Len64(uint64(1)<<v.sequence+sessions-1))
	if used := bits.Len64(uint64(v.last)); used+v.room > 63 {
		return v, fmt.Errorf("sqlgen: Layout needs %d bits for the tick and %d for the numbers of a tick, and a sequence has 63; use longer ticks or fewer bits", used, v.room)
	}
	highest := int64(1)<<workerBits - 1
	if w.Worker < 0 || w.Worker > highest {
		return v, fmt.Errorf("sqlgen: Worker is %d; the layout has 0 to %d", w.Worker, highest)
	}
	v.worker = cmp.Or(w.Worker, highest)
	for _, name := range []struct{ field, value string }{{"Schema", w.schema()}, {"Table", w.table()}, {"Name", w.name()}} {
		if !identifier.MatchString(name.value) {
			return v, fmt.Errorf("sqlgen: %s is %.60q; use up to 40 lower-case letters, digits and underscores", name.field, name.value)
		}
	}
	namespace := cmp.Or(w.Namespace, "default")
	if len(namespace) > 64 {
		return v, fmt.Errorf("sqlgen: Namespace %.70q has more than 64 bytes; use a shorter one", namespace)
	}
	v.window, v.skew = cmp.Or(w.Window, 10*time.Second), cmp.Or(w.MaxClockSkew, time.Second)
	if v.window < 0 || v.skew < 0 {
		return v, fmt.Errorf("sqlgen: Window %v and MaxClockSkew %v must not be negative", v.window, v.skew)
	}
	v.namespace, v.layout = sqldialect.ToASCII(namespace), sqldialect.ToASCII(w.layout().String())
	return v, nil
}

// pairs are the words of the templates, and what replaces them.
func (v values) pairs() []string {
	return []string{
		"{protocol}", fmt.Sprint(protocol.Version), "{worker}", n(v.worker), "{never}", n(neverExpires),
		"{epoch}", n(v.epoch), "{unit}", n(v.unit), "{ahead}", n((v.window + v.skew).Microseconds()), "{skew}", n(v.skew.Microseconds()),
		"{patience}", n(max(v.window, time.Second+v.skew).Microseconds()), "{ids}", n(1 << v.sequence), "{last tick}", n(v.last),
		"{fixed}", n(v.fixed | v.worker<<v.workerShift), "{time shift}", n(int64(v.timeShift)), "{sequence shift}", n(int64(v.sequenceShift)),
	}
}

// pgOperators names the schema of operators. They all bind alike then, from left to right.
var pgOperators = strings.NewReplacer("{&}", "OPERATOR(pg_catalog.&)", "{|}", "OPERATOR(pg_catalog.|)", "{<<}", "OPERATOR(pg_catalog.<<)",
	"{>>}", "OPERATOR(pg_catalog.>>)", "{+}", "OPERATOR(pg_catalog.+)", "{/}", "OPERATOR(pg_catalog./)", "{=}", "OPERATOR(pg_catalog.=)",
	"{>}", "OPERATOR(pg_catalog.>)", "{#}", "OPERATOR(pg_catalog.#)")

func (w Writer) words() (*strings.Replacer, error) {
	s, err := w.values(maxSessions)
	if err != nil {
		return nil, err
	}
	quote := sqldialect.Postgres.Table
	name := w.schema() + "." + w.name()
	regclass := func(name string) string { return literal(quote(name)) + "::pg_catalog.regclass" }
	counter, current, history, lease := regclass(name+"_counter"), regclass(name+"_current"), regclass(name+"_history"), regclass(w.schema()+"."+w.table())
	key := fnv.New32a() // of the lock; not the oid, which would be constant in plans that are cached
	io.WriteString(key, name)
	// hash is odd, because a sequence has no 0. The row of the lease is rewritten by each restore
	// of a dump, and by nothing else.
	hash := "hashtextextended(concat_ws('/', (SELECT system_identifier FROM pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), " +
		"(SELECT oid FROM pg_database WHERE datname = current_database()), " + lease + "::oid, pg_relation_filenode(" + lease + "), l.xmin, " + current + "::oid), 0) & 9223372036854775807 | 1"
	// If the sequence has the lowest bits of an id, and enough other bits above it, a number becomes an id when the other bits are
	// set. They are flipped instead, so that it still shows whether it is one too many.
	rest := s.fixed | s.worker<<s.workerShift
	id := fmt.Sprintf("v {>>} %d {<<} %d {|} (v {&} %d {<<} %d) {|} %d", s.room, s.timeShift, int64(1)<<s.sequence-1, s.sequenceShift, rest)
	mark, marked := "", int64(0)
	if s.sequenceShift == 0 && s.timeShift >= s.room && rest < 1<<s.timeShift {
		s.room = s.timeShift
		id, mark, marked = "v", fmt.Sprintf(" {#} %d", rest), rest
	}
	float := func(v float64) string { return "'" + strconv.FormatFloat(v, 'f', -1, 64) + "'::double precision" }
	second := float64(time.Second.Microseconds())
	pairs := []string{
		"{ns}", quote(w.schema() + "." + w.table() + "_ns"), "{lease}", quote(w.schema() + "." + w.table()),
		"{next}", quote(name), "{enter}", quote(name + "_enter"), "{ready}", quote(name + "_ready"),
		"{counter}", quote(name + "_counter"), "{counter:}", counter,
		"{current}", quote(name + "_current"), "{current:}", current, "{current text}", literal(quote(name + "_current")),
		"{history}", quote(name + "_history"), "{history:}", history, "{history text}", literal(quote(name + "_history")),
		"{hash}", hash, "{key}", fmt.Sprint(int32(key.Sum32())),
		"{setting}", "'snowkey.limit_' || " + current + "::oid",
		"{name}", literal(name), "{token}", literal("sql:" + name),
		"{namespace}", literal(s.namespace), "{layout}", literal(s.layout),
		"{stale}", n(max(time.Second.Microseconds()/s.unit, 1)), "{lag}", lag.String(),
		"{sequence bits}", n(int64(s.sequence)), "{room}", n(int64(s.room)), "{room bits}", fmt.Sprintf("%d bits", s.room),
		"{guard}", n(1<<s.room - 1<<s.sequence), "{spread}", n(int64(1)<<min(s.sequence, 12) - 1),
		"{a second}", float(math.Ldexp(second/float64(s.unit), s.room)), "{newest}", float((float64(s.epoch+s.unit) + float64(lag.Microseconds()) - math.Ldexp(float64(marked), -s.room)*float64(s.unit)) / second),
		"{mark}", pgOperators.Replace(mark), "{marked}", n(marked),
		"{id}", pgOperators.Replace(id), "{now}", "floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint",
	}
	return strings.NewReplacer(append(pairs, s.pairs()...)...), nil
}

// literal quotes a string for PostgreSQL, in any setting of standard_conforming_strings.
func literal(text string) string {
	text = strings.ReplaceAll(text, "'", "''")
	if strings.Contains(text, `\`) {
		return " E'" + strings.ReplaceAll(text, `\`, `\\`) + "'"
	}
	return "'" + text + "'"
}
