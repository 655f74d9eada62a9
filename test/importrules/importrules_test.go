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

	TestImports, XTestImports []string // without those of files for make nightly
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
	noClusters,
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

// noClusters keeps clusters and poolers out of the tests that everybody runs.
func noClusters(_ string, p listed, _ func(string) bool) []string {
	return pick(slices.Concat(p.Imports, p.TestImports, p.XTestImports), func(dep string) (string, bool) {
		return "only files for make nightly need clusters", dep == module+"/internal/dbtest/cluster"
	})
}

// TestRulesCatch runs the rules on forbidden imports, and on similar ones that are
// allowed.
func TestRulesCatch(t *testing.T) {
	// Each line has a package, the imports that it may have, and those that it may not have.
	const table = `
idgen: time ./idgen/internal/clock NOT golang.org/x/sync/errgroup ./lease .
idgen/worker: NOT github.com/google/uuid
idgen/segment/segmentstore: database/sql NOT github.com/jackc/pgx/v5/stdlib ./lease/sqlstore testing
lease: NOT ./idgen ./internal/keeper
internal/keeper: ./lease NOT ./idgen
lease/sqlstore: ./lease NOT github.com/jackc/pgx/v5/stdlib github.com/redis/go-redis/v9
lease/filestore: NOT golang.org/x/sys/unix
lease/etcdstore: go.etcd.io/etcd/client/v3 NOT go.uber.org/zap
lease/redisstore: github.com/redis/go-redis/v9 ./internal/leaserule NOT github.com/google/uuid ./idgen
lease/zkstore: github.com/go-zookeeper/zk NOT github.com/redis/go-redis/v9
schema/pk: database/sql/driver NOT gorm.io/gorm/schema ./idgen
schema/pk/public: crypto/aes ./schema/pk/internal/radix NOT github.com/sqids/sqids-go ./internal/keytype
schema/autoinc: database/sql ./schema/catalog ./schema/internal/database ./internal/ddl NOT github.com/jackc/pgx/v5 entgo.io/ent/dialect ./schema/pk ./cmd/snowkey ./examples/ent/ent
token: crypto/hmac ./idgen NOT github.com/golang-jwt/jwt/v5 golang.org/x/crypto/argon2 ./lease
token/sqltoken: ./internal/session NOT github.com/jackc/pgx/v5/stdlib
token/redistoken: github.com/redis/go-redis/v9 NOT ./internal/tokentest
internal/tokentest: testing
ent/entid: entgo.io/ent/schema/mixin ./idgen ./schema/pk ./schema/catalog NOT ./schema/autoinc github.com/google/uuid . ./hooks/gormid ./lease/sqlstore testing
schema/catalog: ./schema/internal/database NOT ./schema/autoinc ariga.io/atlas/sql/schema ./schema/pk
ent/entid/internal/ent: ./ent/entid
hooks/gormid: ./schema/catalog NOT ./schema/autoinc ./lease ./hooks/gormid2 testing/synctest ./internal/dbtest
hooks/bunid: github.com/uptrace/bun/dialect/feature ./internal/keytype NOT ./schema/autoinc ./hooks/sqlid
hooks/sqlid: database/sql NOT xorm.io/xorm github.com/jmoiron/sqlx
hooks/pgxid: github.com/jackc/pgx/v5/pgtype
.: NOT testing ./cmd/snowkey
internal/dbtest: NOT testing
lease/leasetest: testing NOT ./internal/dbtest
ent/entid/entidgen: testing
idgen/segment/segmenttest: testing
examples/twodb: ./examples/ent/ent/event NOT ./examples/quickstart/rows
examples/quickstart: ./examples/quickstart/rows
cmd/snowkey: ./cmd/snowkey/internal/term github.com/jackc/pgx/v5/stdlib
internal/dbtest/withdb: ./internal/dbtest`
	for line := range strings.Lines(strings.TrimSpace(table)) {
		words := strings.Fields(line)
		path, bad := strings.TrimPrefix(strings.TrimSuffix(words[0], ":"), "."), false
		for _, dep := range words[1:] {
			if dep == "NOT" {
				bad = true
				continue
			}
			if rest, ours := strings.CutPrefix(dep, "."); ours {
				dep = module + rest
			}
			standard := func(dep string) bool { return !strings.Contains(dep, ".") }
			p := listed{ImportPath: module + "/" + path, Imports: []string{dep}, Deps: []string{dep}}
			if got := check(path, p, standard); (len(got) > 0) != bad {
				t.Errorf("%s importing %s: violations %q, want some: %v", path, dep, got, bad)
			}
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
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,TestImports,XTestImports", module+"/...")
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
