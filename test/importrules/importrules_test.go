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

	"github.com/snowkey-go/snowkey/internal/dbtest"
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
var internals = []string{"ddl", "errtest", "failpoint", "kvlease", "kvlease/kvtest", "leased", "protocol", "sqldialect", "sqlsession"}

// integrations lists the folders that have a subfolder for each integration.
var integrations = []string{"ent", "hooks"}

// orms lists what is being integrated.
var orms = []string{"entgo.io/ent", "gorm.io/gorm", "github.com/uptrace/bun", "github.com/jackc/pgx/v5", "xorm.io/xorm"}

// plain lists the integrations that have no ORM and use database/sql.
var plain = []string{"hooks/sqlid"}

// suites are called by tests, most of them by the tests of users. Besides the extension
// of ent's code generator, which imports testing itself, they are therefore the only
// packages that may import testing.
var suites = []string{"lease/leasetest", "idgen/segment/segmenttest", "idgen/idgentest", "internal/tokentest", "internal/kvlease/kvtest"}

// exampleClient is the ent client shared by the examples.
const exampleClient = "examples/ent/ent"

// check returns those imports of p that the rules forbid. The path is relative to the
// module, and standard reports whether a package is part of the standard library.
func check(path string, p listed, standard func(string) bool) (violations []string) {
	forbid := func(deps []string, reason string, bad func(dep, ours string) bool) {
		for _, dep := range deps {
			ours, ok := strings.CutPrefix(dep+"/", module+"/")
			if ours = strings.TrimSuffix(ours, "/"); !ok {
				ours = "-" // a package of another module
			}
			if bad(dep, ours) {
				violations = append(violations, dep+": "+reason)
			}
		}
	}
	in := func(trees ...string) bool { return treeOf(path, trees) != "" }
	internal := func(ours string) bool { return slices.Contains(internals, strings.TrimPrefix(ours, "internal/")) }

	tree, clients := treeOf(path, selfContained), storeClients[path]
	own := func(dep, ours string) bool { // what a package of the tree may import
		return standard(dep) || within(ours, tree) || treeOf(ours, shared[tree]) != "" || internal(ours)
	}
	switch {
	case clients != nil: // a client imports other modules, so we look at direct imports
		forbid(p.Imports, "this store imports the standard library and its client only", func(dep, ours string) bool {
			return !own(dep, ours) && treeOf(dep, clients) == ""
		})
	case tree != "": // what internals import is part of Deps as well
		forbid(p.Deps, tree+" imports the standard library only", func(dep, ours string) bool { return !own(dep, ours) })
	}

	if in(integrations...) {
		self := firstTwo(path)
		found := make(map[string]bool)
		// ORMs come with their own dependencies, so we look at direct imports.
		forbid(p.Imports, "an integration imports idgen, pk, catalog and its ORM", func(dep, ours string) bool {
			if orm := treeOf(dep, orms); orm != "" {
				found[orm] = true
				return in(plain...)
			}
			return !standard(dep) && treeOf(ours, []string{self, "idgen", "schema", "internal"}) == ""
		})
		if len(found) > 1 {
			violations = append(violations, fmt.Sprintf("%d ORMs: an integration has one", len(found)))
		}
		forbid(p.Deps, "integrations know neither each other nor leases", func(_, ours string) bool {
			return within(ours, "lease") || treeOf(ours, integrations) != "" && firstTwo(ours) != self
		})
	}
	if in(integrations...) || in("schema/catalog") {
		// Programs that just check their models don't get the planner of migrations.
		forbid(p.Deps, "Check needs schema/catalog only", func(_, ours string) bool { return within(ours, "schema/autoinc") })
	}
	if !in(suites...) && path != "ent/entid/entidgen" {
		forbid(p.Deps, "programs do not want testing's flags", func(dep, _ string) bool { return within(dep, "testing") })
	}
	forbid(p.Deps, "programs are not imported", func(_, ours string) bool {
		common := in("examples") && within(ours, exampleClient)
		return treeOf(ours, []string{"cmd", "examples"}) != "" && !common && firstTwo(ours) != firstTwo(path)
	})
	if !in("internal/dbtest", "test", "bench") {
		forbid(p.Deps, "servers are for tests", func(_, ours string) bool { return within(ours, "internal/dbtest") })
	}
	forbid(slices.Concat(p.Imports, p.TestImports, p.XTestImports), "only files for make nightly need clusters", func(_, ours string) bool {
		return ours == "test/internal/cluster"
	})
	return violations
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
		"token", "token/sqltoken", "token/redistoken", "vet", "vet/api",
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

// firstTwo returns the integration or the program that path belongs to, such as ent/entid.
func firstTwo(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func list(t *testing.T) (packages []listed) {
	t.Helper()
	// go test caches the result until one of the files changes that the test itself has
	// read. Since it doesn't know which files are read by go list, we read every folder
	// here.
	dbtest.NoError(t, filepath.WalkDir("../..", func(_ string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	}))
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,TestImports,XTestImports", module+"/...")
	cmd.Env = append(cmd.Environ(), "GOWORK=") // that is go.work, which has the programs too
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
