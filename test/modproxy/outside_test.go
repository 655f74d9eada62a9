//go:build modules

package modproxy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// An outside is a program that isn't part of this repository, and that adds Snowkey.
type outside struct {
	name     string
	requires []string // requirements in its go.mod
	uses     []string // what it uses before, each as the path of a package and a name
	adds     []string // what it uses of Snowkey
	gets     []string // the modules of Snowkey to be added
	brings   []string // what else they need
}

const snowkey = "github.com/snowkey-go/snowkey"

var outsides = []outside{
	{"core, leases in a database", []string{"github.com/google/uuid v1.3.0"}, []string{"github.com/google/uuid.New"},
		[]string{".Open", "/lease/sqlstore.Postgres"}, []string{""}, nil},
	{"core, leases in a folder", nil, nil,
		[]string{".Open", "/lease/filestore.Dir"}, []string{""}, nil},
	{"etcdstore beside etcd's client 3.5.10", []string{"go.etcd.io/etcd/client/v3 v3.5.10"}, []string{"go.etcd.io/etcd/client/v3.New"},
		[]string{".Open", "/lease/etcdstore.New"}, []string{"", "/lease/etcdstore"}, nil},
	{"redisstore beside go-redis 9.7.3", []string{"github.com/redis/go-redis/v9 v9.7.3"}, []string{"github.com/redis/go-redis/v9.NewClient"},
		[]string{".Open", "/lease/redisstore.New"}, []string{"", "/lease/redisstore"}, nil},
	{"pk and sqlid beside mysql 1.8.1", []string{"github.com/go-sql-driver/mysql v1.8.1"}, []string{"github.com/go-sql-driver/mysql.NewConnector"},
		[]string{"/schema/pk.Parse", "/hooks/sqlid.Fill"}, []string{""}, nil},
	{"pk beside pgx 5.7.0", []string{"github.com/jackc/pgx/v5 v5.7.0"}, []string{"github.com/jackc/pgx/v5/pgxpool.New"},
		[]string{"/schema/pk.Parse"}, []string{""}, nil},
	{"pgxid beside pgx 5.7.0", []string{"github.com/jackc/pgx/v5 v5.7.0"}, []string{"github.com/jackc/pgx/v5/pgxpool.New"},
		[]string{"/hooks/pgxid.Register"}, []string{"", "/hooks/pgxid"}, nil},
	{"entid beside ent 0.14.3", []string{"entgo.io/ent v0.14.3"}, []string{"entgo.io/ent/dialect/sql/schema.NewMigrate", "entgo.io/ent/schema/field.Int64"},
		[]string{"/ent/entid.Hook"}, []string{"", "/ent/entid"}, nil},
	{"gormid beside gorm 1.25.12", []string{"gorm.io/gorm v1.25.12"}, []string{"gorm.io/gorm.Open"},
		[]string{"/hooks/gormid.New"}, []string{"", "/hooks/gormid"}, nil},
	{"gormid beside gorm 1.25.12 and pgx 5.7.0", []string{"gorm.io/gorm v1.25.12", "github.com/jackc/pgx/v5 v5.7.0"},
		[]string{"gorm.io/gorm.Open", "github.com/jackc/pgx/v5/stdlib.OpenDB"}, []string{"/hooks/gormid.New"}, []string{"", "/hooks/gormid"}, nil},
	{"bunid beside bun 1.2.16", []string{"github.com/uptrace/bun v1.2.16", "github.com/uptrace/bun/dialect/pgdialect v1.2.16"},
		[]string{"github.com/uptrace/bun.NewDB", "github.com/uptrace/bun/dialect/pgdialect.New"}, []string{"/hooks/bunid.Use"}, []string{"", "/hooks/bunid"}, nil},
	{"snowkeyprom beside client_golang 1.20.5", []string{"github.com/prometheus/client_golang v1.20.5"}, []string{"github.com/prometheus/client_golang/prometheus.NewRegistry"},
		[]string{"/metrics/snowkeyprom.NewCollector"}, []string{"", "/metrics/snowkeyprom"}, nil},
	{"snowkeyotel beside otel 1.24.0", []string{"go.opentelemetry.io/otel v1.24.0"}, []string{"go.opentelemetry.io/otel.GetMeterProvider"},
		[]string{"/metrics/snowkeyotel.Register"}, []string{"", "/metrics/snowkeyotel"}, nil},
	{"zkstore beside go-zookeeper 1.0.4", []string{"github.com/go-zookeeper/zk v1.0.4"}, []string{"github.com/go-zookeeper/zk.Connect"},
		[]string{".Open", "/lease/zkstore.New"}, []string{"", "/lease/zkstore"}, nil},
	{"service beside net/http", nil, []string{"net/http.ListenAndServe"},
		[]string{"/service.NewHandler"}, []string{"", "/service"}, []string{"golang.org/x/net v0.49.0", "golang.org/x/time v0.8.0"}},
	{"service/client beside net/http", nil, []string{"net/http.Get"},
		[]string{"/service/client.New"}, []string{"", "/service/client"}, nil},
	{"token and sqltoken beside database/sql", nil, []string{"database/sql.Open"},
		[]string{"/token.New", "/token/sqltoken.Postgres"}, []string{""}, nil},
	{"redistoken beside go-redis 9.7.3", []string{"github.com/redis/go-redis/v9 v9.7.3"}, []string{"github.com/redis/go-redis/v9.NewClient"},
		[]string{"/token/redistoken.New"}, []string{"", "/token/redistoken"}, nil},
}

// A program that adds Snowkey must keep the versions of all its modules. Nothing but
// Snowkey's own modules may be added to its go.mod, except for what the table above names.
func TestOutsidePrograms(t *testing.T) {
	p := newProxy(t)
	for _, o := range outsides {
		t.Run(o.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "go.mod", "module example.com/program\n\ngo 1.21\n\nrequire (\n\t"+strings.Join(o.requires, "\n\t")+"\n)\n")
			write(t, dir, "main.go", program(o.uses))
			p.run(t, dir, "mod", "tidy")
			before, had := p.versions(t, dir), requirements(t, dir)

			uses, get := slices.Clone(o.uses), []string{"get"}
			for _, name := range o.adds {
				uses = append(uses, snowkey+name)
			}
			for _, path := range o.gets {
				get = append(get, snowkey+path+"@"+p.version)
			}
			write(t, dir, "main.go", program(uses))
			p.run(t, dir, get...)
			p.run(t, dir, "mod", "tidy")
			after, has := p.versions(t, dir), requirements(t, dir)
			for path, version := range before {
				if after[path] != version && after[path] != "" {
					t.Errorf("%s %s became %s", path, version, after[path])
				}
			}
			gained := slices.DeleteFunc(slices.Clone(has), func(line string) bool { return slices.Contains(had, line) })
			if len(gained) != len(o.gets)+len(o.brings) {
				t.Errorf("go.mod gains %q, want %d lines", gained, len(o.gets)+len(o.brings))
			}
			for _, line := range gained {
				if !strings.HasPrefix(line, snowkey) && !slices.Contains(o.brings, strings.TrimSuffix(line, " // indirect")) {
					t.Errorf("go.mod gains %s", line)
				}
			}
			p.run(t, dir, "build", "-o", os.DevNull, ".")
		})
	}
}

// program returns the source of a program that uses the given names.
func program(uses []string) string {
	var imports, names strings.Builder
	for i, use := range uses {
		dot := strings.LastIndexByte(use, '.')
		fmt.Fprintf(&imports, "\tp%d %q\n", i, use[:dot])
		fmt.Fprintf(&names, "\tfmt.Println(p%d%s)\n", i, use[dot:])
	}
	return "package main\n\nimport (\n\t\"fmt\"\n\n" + imports.String() + ")\n\nfunc main() {\n\tfmt.Println()\n" + names.String() + "}\n"
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	dbtest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
}

// versions returns the version of each module in the build list.
func (p proxy) versions(t *testing.T, dir string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for line := range strings.Lines(p.run(t, dir, "list", "-m", "all")) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			versions[path] = version
		}
	}
	return versions
}

// requirements returns the requirements listed in go.mod.
func requirements(t *testing.T, dir string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(read(t, dir, "go.mod")) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		if path, _, ok := strings.Cut(line, " "); ok && strings.Contains(path, ".") {
			lines = append(lines, line)
		}
	}
	return lines
}
