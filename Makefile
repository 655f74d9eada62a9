# Snowkey's everyday commands. make alone lists them.

# All packages of all modules, which go.work lists.
module      := github.com/snowkey-go/snowkey
packages    := $(module)/...
newest      := env GOWORK=$(CURDIR)/newest.work
withdb      := go run ./internal/dbtest/withdb
staticcheck := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Tests compare pages and packages outside their module, of which the cache of go test knows nothing.
TESTFLAGS  ?= -count=1
# How the tests report: pkgname prints a line for each package as it ends.
FORMAT     ?= pkgname
gotest     := go run gotest.tools/gotestsum@v1.13.0 --format=$(FORMAT) --hide-summary=skipped --
BENCHFLAGS ?=
FUZZTIME   ?= 20000x
CHAOS      ?= 3m
N          ?= 60
BUSY       ?= 10
DB         ?= postgres mysql

# The race detector needs a C compiler; without one, Go turns cgo off.
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# The packages whose tests open databases.
sqlpackages = $(shell go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' $(packages) | sed -n 's,\([^ ]*\) .*/internal/dbtest[] ].*,\1,p')

.PHONY: help test test-all test-newest test-modules test-sql chaos chaos-repeat bench herd benchmarks bench-once fuzz lint portable generate check-generate

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# INSTALL=1 allows root to install the servers. Without it they are unpacked into a cache.
export SNOWKEY_TEST_INSTALL := $(INSTALL)

test: ## every test, on SQLite, and on Postgres and MySQL or MariaDB where they can be had
	@test -n "$(RACE)" || echo "make test: no C compiler, so no race detector"
	$(withdb) $(gotest) -timeout 30m $(RACE) $(TESTFLAGS) $(packages)
	@# Once more without the race detector, which allocates and slows, and with the JSON of Go 1.27.
	GOEXPERIMENT=jsonv2 $(withdb) $(gotest) $(TESTFLAGS) ./idgen/... ./schema/... ./test/pk/... ./examples/web/...

# Each of them demands all databases and programs.
test-all: withdb += -all
test-all: export SNOWKEY_TEST_FETCH := 1
test-all: test test-newest test-modules ## test, test-newest and test-modules, with nothing left out

test-newest: ## the integrations with the newest releases of the ORMs and drivers, and the benchmarks' own tests
	$(withdb) $(newest) $(gotest) -tags newest $(TESTFLAGS) $(addprefix $(module)/,hooks/... ent/... test/entid/... test/gormid/... test/bunid/... test/pgxid/... test/matrix/... test/kubernetes/... bench/...)

test-modules: ## each module as users build it, without the workspace; and programs that add them
	$(gotest) -tags modules -timeout 30m $(TESTFLAGS) ./test/modproxy

test-sql: ## only the tests that open databases
	$(withdb) $(gotest) -timeout 30m $(RACE) $(TESTFLAGS) $(sqlpackages)

chaos: ## 32 processes draw ids while they, the database and the network are harmed, for CHAOS (3m) each database
	SNOWKEY_CHAOS=$(CHAOS) go test -count=1 -v -timeout 0 -run '^TestChaos$$' ./test/chaos

chaos-repeat: ## the short chaos test, N (60) times on each server of DB, while BUSY (10) loops use the processor
	N='$(N)' BUSY='$(BUSY)' DB='$(DB)' ./test/chaos/repeat.sh $(RACE)

bench: ## one table: Snowkey and its peers on the same work; then what a lease costs
	$(newest) go run ./bench $(BENCHFLAGS)
	@echo; echo "Reading the bound of a lease, in Next; and the statements of a lease on servers that flush to disk"
	@go test -run='^$$' -bench='^Benchmark(Bound|Lease)$$' ./idgen ./test/sqlstore | grep '^Benchmark'

herd: ## a thousand processes start at once, on each database; wants a quiet machine for half an hour
	$(newest) go run ./bench -herd $(BENCHFLAGS)

benchmarks: ## write docs/benchmarks.md and its plots; wants a quiet machine for a quarter of an hour
	$(newest) go run ./bench -rows 1000000 -write docs/benchmarks.md $(BENCHFLAGS)

bench-once: ## every benchmark once, to see that it works
	$(withdb) $(newest) go test -run='^$$' -bench=. -benchtime=1x $(TESTFLAGS) $(packages)

# A number of inputs and no time: before Go 1.27 the end of the time is now and
# then reported as a failure (go.dev/issue/75804).
fuzz: ## every fuzz target with FUZZTIME (20000x) inputs
	@set -e; list=$$(go test -list '^Fuzz' $(packages)); targets=$$(echo "$$list" | \
		awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 "=" name[i]; n = 0 }'); \
	test -n "$$targets" || { echo "make fuzz: found no fuzz target"; exit 1; }; \
	for target in $$targets; do \
		echo "$${target#*=}"; \
		go test -run='^$$' -fuzz="^$${target#*=}\$$" -fuzztime=$(FUZZTIME) "$${target%=*}"; \
	done

lint: ## formatting, vet, fixes for today's Go, staticcheck
	@echo gofmt; ! gofmt -l . | grep .
	go vet $(packages)
	$(newest) go vet -tags newest,modules $(packages)
	$(newest) go fix -tags newest,modules -diff $(packages)
	$(newest) $(staticcheck) -tags newest,modules $(packages)

portable: ## does it compile for Windows, and run on 32 bits?
	GOOS=windows $(newest) go vet $(packages)
	CGO_ENABLED=0 GOARCH=386 $(newest) go vet $(packages)
	CGO_ENABLED=0 GOARCH=386 go test ./idgen/... ./schema/pk/... ./lease/...

# One after another: ent formats its files in parallel, and takes a package of
# another example for entgo.io/ent where it reads a file that is being written.
generate: export GOMAXPROCS := 1
generate: ## write ent's code anew
	go generate $(packages)
	$(newest) go generate $(module)/bench/...

check-generate: generate ## fail if that changes what is committed
	@test -z "$$(git status --porcelain)" || { git status --short; git --no-pager diff; exit 1; }
