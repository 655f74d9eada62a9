// Package importrules tests which packages may import which, across all modules of this
// repository.
//
// In particular, idgen, lease and schema/pk must import nothing but the standard
// library, and an integration must not import any ORM except its own. The test gets the
// imports from go list. The rules are about folders, so that they also apply to
// packages that don't exist yet.
package importrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/snowkey-go/snowkey"

// A listed is a package, without its tests, as described by go list.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string // imports, both direct and indirect
}

// selfContained lists the trees that may only import the standard library and
// themselves. As a consequence, idgen and lease can't import each other, and neither
// the stores nor the inspection of schemas can import a driver.
var selfContained = []string{"idgen", "lease", "internal/keeper", "schema/pk", "schema/autoinc", "schema/catalog", "token"}

// shared lists packages that these trees may import from outside.
var shared = map[string][]string{
	"internal/keeper": {"lease"},
	"schema/autoinc":  {"schema/catalog", "schema/internal"},
	"schema/catalog":  {"schema/internal"},
	"token":           {"idgen"},
}

// storeClients lists the stores that are modules of their own. Each imports the modules of
// its client, and otherwise what the other packages of its tree may import.
var storeClients = map[string][]string{
	"lease/etcdstore":  {"go.etcd.io/etcd", "google.golang.org/grpc"},
	"lease/redisstore": {"github.com/redis/go-redis/v9"},
	"lease/zkstore":    {"github.com/go-zookeeper/zk"},
	"token/redistoken": {"github.com/redis/go-redis/v9"},
}

// internals lists the packages in /internal that these trees may share.
var internals = []string{"ddl", "failpoint", "leased", "leaserule", "protocol", "session"}

// integrations lists the folders that have a subfolder for each integration.
var integrations = []string{"ent", "hooks"}

// orms lists what is being integrated.
var orms = []string{"entgo.io/ent", "gorm.io/gorm", "github.com/uptrace/bun", "github.com/jackc/pgx/v5", "xorm.io/xorm"}

// plain lists the integrations that have no ORM and use database/sql.
var plain = []string{"hooks/sqlid"}

// suites are called by tests, most of them by the tests of users. Besides the extension
// of ent's code generator, which imports testing itself, they are therefore the only
// packages that may import testing.
var suites = []string{"lease/leasetest", "idgen/segment/segmenttest", "idgen/idgentest", "internal/tokentest"}

// exampleClient is the ent client shared by the examples.
const exampleClient = "examples/ent/ent"

// A rule returns those imports of p that it forbids. The path is relative to the
// module, and standard reports whether a package is part of the standard library.
type rule func(path string, p listed, standard func(string) bool) []string

var rules = []rule{
	standardLibraryOnly,
	oneORM,
	noLeaseNorOtherIntegration,
	noMigration,
	noTesting,
	noProgram,
	noTestServers,
}

func standardLibraryOnly(path string, p listed, standard func(string) bool) []string {
	tree := treeOf(path, selfContained)
	if tree == "" {
		return nil
	}
	if clients := storeClients[path]; clients != nil { // a client imports other modules, so we look at direct imports
		return pick(p.Imports, func(dep string) (string, bool) {
			internal := strings.TrimPrefix(dep, module+"/internal/")
			return "this store imports the standard library and its client only", !standard(dep) && treeOf(dep, clients) == "" &&
				!within(dep, module+"/"+tree) && treeOf(strings.TrimPrefix(dep, module+"/"), shared[tree]) == "" && !slices.Contains(internals, internal)
		})
	}
	return pick(p.Deps, func(dep string) (string, bool) {
		ours := strings.TrimPrefix(dep, module+"/")
		internal := strings.TrimPrefix(dep, module+"/internal/")
		return tree + " imports the standard library only", !standard(dep) && !within(dep, module+"/"+tree) &&
			treeOf(ours, shared[tree]) == "" && !slices.Contains(internals, internal) // what these import is part of Deps as well
	})
}

// oneORM only looks at direct imports, because ORMs come with their own dependencies.
func oneORM(path string, p listed, standard func(string) bool) []string {
	own := integrationOf(path)
	if own == "" {
		return nil
	}
	found := make(map[string]bool)
	bad := pick(p.Imports, func(dep string) (string, bool) {
		if orm := treeOf(dep, orms); orm != "" {
			found[orm] = true
			return "this integration has no ORM", treeOf(path, plain) != ""
		}
		allowed := standard(dep) || within(dep, module+"/"+own) ||
			within(dep, module+"/idgen") || within(dep, module+"/schema") || within(dep, module+"/internal")
		return "an integration imports idgen, pk, catalog and its ORM", !allowed
	})
	if len(found) > 1 {
		bad = append(bad, fmt.Sprintf("%d ORMs: an integration has one", len(found)))
	}
	return bad
}

func noLeaseNorOtherIntegration(path string, p listed, _ func(string) bool) []string {
	own := integrationOf(path)
	if own == "" {
		return nil
	}
	return pick(p.Deps, func(dep string) (string, bool) {
		dep, ours := strings.CutPrefix(dep, module+"/")
		if other := integrationOf(dep); ours && other != "" && other != own {
			return "integrations do not import each other", true
		}
		return "integrations do not know of leases", ours && within(dep, "lease")
	})
}

// noMigration makes sure that programs that just check their models don't get the
// planner of migrations.
func noMigration(path string, p listed, _ func(string) bool) []string {
	if integrationOf(path) == "" && treeOf(path, []string{"schema/catalog"}) == "" {
		return nil
	}
	return pick(p.Deps, func(dep string) (string, bool) {
		return "Check needs schema/catalog only", within(dep, module+"/schema/autoinc")
	})
}

func noTesting(path string, p listed, _ func(string) bool) []string {
	if treeOf(path, suites) != "" || path == "ent/entid/entidgen" {
		return nil
	}
	return pick(p.Deps, func(dep string) (string, bool) {
		return "programs do not want testing's flags", within(dep, "testing")
	})
}

func noProgram(path string, p listed, _ func(string) bool) []string {
	return pick(p.Deps, func(dep string) (string, bool) {
		dep, ours := strings.CutPrefix(dep, module+"/")
		program := ours && (within(dep, "cmd") || within(dep, "examples"))
		shared := within(path, "examples") && within(dep, exampleClient)
		return "programs are not imported", program && !shared && programOf(dep) != programOf(path)
	})
}

func noTestServers(path string, p listed, _ func(string) bool) []string {
	if treeOf(path, []string{"internal/dbtest", "test", "bench"}) != "" {
		return nil
	}
	return pick(p.Deps, func(dep string) (string, bool) {
		return "servers are for tests", within(dep, module+"/internal/dbtest")
	})
}

func TestImports(t *testing.T) {
	packages := list(t)
	standard := make(map[string]bool)
	ours := make(map[string]listed)
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
		if path, ok := strings.CutPrefix(p.ImportPath+"/", module+"/"); ok {
			ours[strings.TrimSuffix(path, "/")] = p
		}
	}
	// "C" and "unsafe" may be missing from the output of go list.
	standard["C"], standard["unsafe"] = true, true
	for _, path := range []string{
		"idgen", "idgen/worker", "schema/pk", "schema/pk/public", "schema/autoinc", "schema/catalog", "ent/entid",
		"hooks/bunid", "hooks/gormid", "hooks/pgxid", "hooks/sqlid", "lease/etcdstore", "lease/redisstore", "lease/zkstore", "metrics/snowkeyotel", "service", "service/client", "metrics/snowkeyprom", "cmd/snowkey", "internal/dbtest",
		"token", "token/sqltoken", "token/redistoken",
	} {
		if _, ok := ours[path]; !ok {
			t.Errorf("go list does not know %s: are the rules still about this module?", path)
		}
	}
	for path, p := range ours {
		for _, violation := range check(path, p, func(dep string) bool { return standard[dep] }) {
			t.Errorf("%s imports %s", p.ImportPath, violation)
		}
	}
}

// TestRulesCatch runs the rules on forbidden imports, and on similar ones that are
// allowed.
func TestRulesCatch(t *testing.T) {
	for _, tc := range []struct {
		path, dep string
		bad       bool
	}{
		{"idgen", "time", false},
		{"idgen", module + "/idgen/internal/clock", false},
		{"idgen", "golang.org/x/sync/errgroup", true},
		{"idgen/worker", "github.com/google/uuid", true},
		{"idgen/segment/segmentstore", "database/sql", false},
		{"idgen/segment/segmentstore", "github.com/jackc/pgx/v5/stdlib", true},
		{"idgen/segment/segmentstore", module + "/lease/sqlstore", true},
		{"idgen", module + "/lease", true},
		{"idgen", module, true},
		{"lease", module + "/idgen", true},
		{"lease", module + "/internal/keeper", true},
		{"internal/keeper", module + "/lease", false},
		{"internal/keeper", module + "/idgen", true},
		{"lease/sqlstore", module + "/lease", false},
		{"lease/sqlstore", "github.com/jackc/pgx/v5/stdlib", true},
		{"lease/filestore", "golang.org/x/sys/unix", true},
		{"lease/etcdstore", "go.etcd.io/etcd/client/v3", false},
		{"lease/etcdstore", "go.uber.org/zap", true},
		{"lease/redisstore", "github.com/redis/go-redis/v9", false},
		{"lease/redisstore", module + "/internal/leaserule", false},
		{"lease/redisstore", "github.com/google/uuid", true},
		{"lease/redisstore", module + "/idgen", true},
		{"lease/sqlstore", "github.com/redis/go-redis/v9", true},
		{"lease/zkstore", "github.com/go-zookeeper/zk", false},
		{"lease/zkstore", "github.com/redis/go-redis/v9", true},
		{"schema/pk", "database/sql/driver", false},
		{"schema/pk", "gorm.io/gorm/schema", true},
		{"schema/pk", module + "/idgen", true},
		{"schema/pk/public", "crypto/aes", false},
		{"schema/pk/public", module + "/schema/pk/internal/radix", false},
		{"schema/pk/public", "github.com/sqids/sqids-go", true},
		{"schema/pk/public", module + "/internal/keytype", true},
		{"schema/autoinc", "database/sql", false},
		{"schema/autoinc", "github.com/jackc/pgx/v5", true},
		{"schema/autoinc", "entgo.io/ent/dialect", true},
		{"schema/autoinc", module + "/schema/pk", true},
		{"schema/autoinc", module + "/cmd/snowkey", true},

		{"token", "crypto/hmac", false},
		{"token", module + "/idgen", false},
		{"token", "github.com/golang-jwt/jwt/v5", true},
		{"token", "golang.org/x/crypto/argon2", true},
		{"token", module + "/lease", true},
		{"token/sqltoken", module + "/internal/session", false},
		{"token/sqltoken", "github.com/jackc/pgx/v5/stdlib", true},
		{"token/redistoken", "github.com/redis/go-redis/v9", false},
		{"token/redistoken", module + "/internal/tokentest", true},
		{"internal/tokentest", "testing", false},

		{"ent/entid", "entgo.io/ent/schema/mixin", false},
		{"ent/entid", module + "/idgen", false},
		{"ent/entid", module + "/schema/pk", false},
		{"schema/autoinc", module + "/schema/catalog", false},
		{"schema/autoinc", module + "/schema/internal/database", false},
		{"schema/autoinc", module + "/internal/ddl", false},
		{"schema/catalog", module + "/schema/internal/database", false},
		{"schema/catalog", module + "/schema/autoinc", true},
		{"schema/catalog", "ariga.io/atlas/sql/schema", true},
		{"schema/catalog", module + "/schema/pk", true},

		{"ent/entid", module + "/schema/catalog", false},
		{"ent/entid", module + "/schema/autoinc", true},
		{"ent/entid/internal/ent", module + "/ent/entid", false},
		{"ent/entid", "github.com/google/uuid", true},
		{"ent/entid", module, true},
		{"ent/entid", module + "/hooks/gormid", true},
		{"ent/entid", module + "/lease/sqlstore", true},
		{"hooks/gormid", module + "/schema/catalog", false},
		{"hooks/gormid", module + "/schema/autoinc", true},
		{"hooks/bunid", module + "/schema/autoinc", true},
		{"hooks/gormid", module + "/lease", true},
		{"hooks/gormid", module + "/hooks/gormid2", true},
		{"hooks/bunid", "github.com/uptrace/bun/dialect/feature", false},
		{"hooks/bunid", module + "/internal/keytype", false},
		{"hooks/bunid", module + "/hooks/sqlid", true},
		{"hooks/sqlid", "database/sql", false},
		{"hooks/sqlid", "xorm.io/xorm", true},
		{"hooks/sqlid", "github.com/jmoiron/sqlx", true},
		{"hooks/pgxid", "github.com/jackc/pgx/v5/pgtype", false},

		{"", "testing", true},
		{"internal/dbtest", "testing", true},
		{"hooks/gormid", "testing/synctest", true},
		{"lease/leasetest", "testing", false},
		{"ent/entid/entidgen", "testing", false},
		{"ent/entid", "testing", true},
		{"idgen/segment/segmenttest", "testing", false},
		{"idgen/segment/segmentstore", "testing", true},

		{"", module + "/cmd/snowkey", true},
		{"schema/autoinc", module + "/examples/ent/ent", true},
		{"examples/twodb", module + "/examples/ent/ent/event", false},
		{"examples/twodb", module + "/examples/quickstart/rows", true},
		{"examples/quickstart", module + "/examples/quickstart/rows", false},
		{"cmd/snowkey", module + "/cmd/snowkey/internal/term", false},
		{"cmd/snowkey", "github.com/jackc/pgx/v5/stdlib", false},

		{"lease/leasetest", module + "/internal/dbtest", true},
		{"hooks/gormid", module + "/internal/dbtest", true},
		{"internal/dbtest/withdb", module + "/internal/dbtest", false},
	} {
		standard := func(dep string) bool { return !strings.Contains(dep, ".") }
		p := listed{ImportPath: module + "/" + tc.path, Imports: []string{tc.dep}, Deps: []string{tc.dep}}
		if got := check(tc.path, p, standard); (len(got) > 0) != tc.bad {
			t.Errorf("%s importing %s: violations %q, want some: %v", tc.path, tc.dep, got, tc.bad)
		}
	}

	two := []string{"gorm.io/gorm", "github.com/uptrace/bun"}
	if check("hooks/gormid", listed{Imports: two, Deps: two}, func(string) bool { return false }) == nil {
		t.Error("an integration of two ORMs passes")
	}
}

func check(path string, p listed, standard func(string) bool) (violations []string) {
	for _, rule := range rules {
		violations = append(violations, rule(path, p, standard)...)
	}
	return violations
}

// pick returns those dependencies for which bad returns true, together with the reason.
func pick(deps []string, bad func(dep string) (reason string, is bool)) (violations []string) {
	for _, dep := range deps {
		if reason, is := bad(dep); is {
			violations = append(violations, dep+": "+reason)
		}
	}
	return violations
}

func within(path, tree string) bool {
	return path == tree || strings.HasPrefix(path, tree+"/")
}

// treeOf returns the tree that contains path, or an empty string.
func treeOf(path string, trees []string) string {
	if i := slices.IndexFunc(trees, func(tree string) bool { return within(path, tree) }); i >= 0 {
		return trees[i]
	}
	return ""
}

// integrationOf returns the integration that path belongs to, such as ent/entid, or an
// empty string.
func integrationOf(path string) string {
	if treeOf(path, integrations) == "" {
		return ""
	}
	return firstTwo(path)
}

// programOf returns the program or example that path belongs to.
func programOf(path string) string { return firstTwo(path) }

func firstTwo(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func list(t *testing.T) (packages []listed) {
	t.Helper()
	// go test caches the result until one of the files changes that the test itself has
	// read. Since it doesn't know which files are read by go list, we read every folder
	// here.
	err := filepath.WalkDir("../..", func(_ string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, stderr.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
