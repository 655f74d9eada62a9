package matrix

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// servers lists the columns of the page.
var servers = []string{"sqlite", "postgres", "mysql", "mariadb"}

func serverOf(db dbtest.DB) string {
	if db.MariaDB {
		return "mariadb"
	}
	return db.Dialect
}

func (in integration) has(server string) bool { return slices.Contains(in.servers, server) }

// ways returns the ways of the benches, which are the same for all of them.
func (in integration) ways() []way {
	for _, b := range in.benches {
		return b.ways()
	}
	return nil
}

// A line identifies a way across all integrations.
type line struct{ integration, kind, call string }

func (in integration) line(w way) line { return line{in.name, string(w.kind), w.call} }

// results has the outcomes of all ways on one server. Its file in testdata has a record
// for each way, with a field for each type of key, which is empty if there is no such
// bench. The header starts with the version of the server.
type results struct {
	server   string
	version  string
	outcomes map[line]map[keyType]string
}

func (r *results) file() string { return filepath.Join("testdata", r.server+".csv") }

// number of fields in a record before the outcomes
const fields = 3

// readResults reads the file of a server. If there is no file, there are no outcomes.
func readResults(t *testing.T, server string) *results {
	t.Helper()
	r := &results{server: server, outcomes: make(map[line]map[keyType]string)}
	f, err := os.Open(r.file())
	if os.IsNotExist(err) {
		return r
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || len(records) == 0 || len(records[0]) < fields {
		t.Fatalf("%s is not what the suite has written: %v", r.file(), err)
	}
	header := records[0]
	r.version = header[0]
	for _, record := range records[1:] {
		outcomes := make(map[keyType]string)
		for i, outcome := range record[fields:] {
			if outcome != "" {
				outcomes[keyType(header[fields+i])] = outcome
			}
		}
		r.outcomes[line{record[0], record[1], record[2]}] = outcomes
	}
	return r
}

// write writes the file, keeping the order of the suite.
func (r *results) write(t *testing.T) {
	t.Helper()
	header := []string{r.version, "kind", "call"}
	for _, key := range keyTypes {
		header = append(header, string(key))
	}
	records := [][]string{header}
	for _, l := range lines(r.server) {
		record := []string{l.integration, l.kind, l.call}
		for _, key := range keyTypes {
			record = append(record, r.outcomes[l][key])
		}
		records = append(records, record)
	}
	f, err := os.Create(r.file())
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll(records); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// lines returns the lines that a run on a server must produce.
func lines(server string) []line {
	var list []line
	for _, in := range integrations {
		if !in.has(server) {
			continue
		}
		for _, w := range in.ways() {
			if w.create != nil {
				list = append(list, in.line(w))
			}
		}
	}
	return list
}

// settle compares the outcomes of one bench with those on record. With -update, it
// records them instead.
func (r *results) settle(t *testing.T, in integration, key keyType, got map[line]string) {
	t.Helper()
	for l, outcome := range got {
		if outcome == "" {
			continue // an error that has already been reported
		}
		if want := r.outcomes[l][key]; want != outcome && !*update {
			t.Errorf("%s, %s is %q, and %s says %q; if it is right, run the test with -update", l.kind, l.call, outcome, r.file(), want)
		}
		if r.outcomes[l] == nil {
			r.outcomes[l] = make(map[keyType]string)
		}
		r.outcomes[l][key] = outcome
	}
	for l, outcomes := range r.outcomes {
		if _, ok := got[l]; !ok && l.integration == in.name && outcomes[key] != "" && !*update {
			t.Errorf("%s claims %q for %s, %s, which did not run; run the test with -update", r.file(), outcomes[key], l.kind, l.call)
		}
	}
}
