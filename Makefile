# Snowkey's everyday commands. make alone lists them.

# All packages of all modules, which go.work lists.
module      := github.com/snowkey-go/snowkey
packages    := $(module)/...
newest      := env GOWORK=$(CURDIR)/newest.work
withdb      := go run ./internal/dbtest/withdb
staticcheck := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Tests compare pages and packages outside their module, of which the cache of go test knows nothing.
TESTFLAGS  ?= -count=1
BENCHFLAGS ?=
FUZZTIME   ?= 20000x
CHAOS      ?= 3m
N          ?= 60
BUSY       ?= 10
DB         ?= postgres mysql

# The race detector needs a C compiler; without one, Go turns cgo off.
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# ent's clients that are not in the repository. The tag clients is set where they are.
clients := bench/internal/ent/client.go test/entid/internal/trap/client.go test/matrix/ent/client.go

# The packages whose tests open databases.
sqlpackages = $(shell go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' $(packages) | sed -n 's,\([^ ]*\) .*/internal/dbtest[] ].*,\1,p')

.PHONY: help test test-newest test-modules test-sql chaos chaos-repeat bench herd benchmarks bench-once fuzz lint portable tidy generate check-generate release

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: $(clients) ## every test, on SQLite, Postgres and MySQL or MariaDB, with the race detector
	@test -n "$(RACE)" || echo "make test: no C compiler, so no race detector"
	$(withdb) go test -tags clients -timeout 30m $(RACE) $(TESTFLAGS) $(packages)
	@# Once more without the race detector, which allocates and slows, and with the JSON of Go 1.27.
	$(withdb) env GOEXPERIMENT=jsonv2 go test $(TESTFLAGS) ./idgen/... ./schema/... ./test/pk/... ./examples/web/...

test-newest: $(clients) ## the integrations with the newest releases of the ORMs and drivers, and the benchmarks' own tests
	$(withdb) $(newest) go test -tags newest,clients $(TESTFLAGS) $(addprefix $(module)/,hooks/... ent/... test/entid/... test/gormid/... test/bunid/... test/pgxid/... test/matrix/... bench/...)

test-modules: ## each module as users build it, without the workspace; and programs that add them
	go test -tags modules -timeout 30m $(TESTFLAGS) ./test/modproxy

test-sql: $(clients) ## only the tests that open databases
	$(withdb) go test -tags clients -timeout 30m $(RACE) $(TESTFLAGS) $(sqlpackages)

chaos: ## 32 processes draw ids while they, the database and the network are harmed, for CHAOS (3m) each database
	SNOWKEY_CHAOS=$(CHAOS) go test -count=1 -v -timeout 0 -run '^TestChaos$$' ./test/chaos

chaos-repeat: ## the short chaos test, N (60) times on each server of DB, while BUSY (10) loops use the processor
	N='$(N)' BUSY='$(BUSY)' DB='$(DB)' ./test/chaos/repeat.sh $(RACE)

bench: $(clients) ## one table: Snowkey and its peers on the same work; then what a lease costs
	$(newest) go run ./bench $(BENCHFLAGS)
	@echo; echo "Reading the bound of a lease, in Next; and the statements of a lease on servers that flush to disk"
	@go test -run='^$$' -bench='^Benchmark(Bound|Lease)$$' ./idgen ./test/sqlstore | grep '^Benchmark'

herd: $(clients) ## a thousand processes start at once, on each database; wants a quiet machine for half an hour
	$(newest) go run ./bench -herd $(BENCHFLAGS)

benchmarks: $(clients) ## write docs/benchmarks.md and its plots; wants a quiet machine for a quarter of an hour
	$(newest) go run ./bench -rows 1000000 -write docs/benchmarks.md $(BENCHFLAGS)

bench-once: $(clients) ## every benchmark once, to see that it works
	$(withdb) $(newest) go test -tags clients -run='^$$' -bench=. -benchtime=1x $(TESTFLAGS) $(packages)

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

lint: $(clients) ## formatting, vet, fixes for today's Go, staticcheck
	@echo gofmt; ! gofmt -l . | grep .
	go vet -tags clients $(packages)
	$(newest) go vet -tags newest,modules,clients $(packages)
	$(newest) go fix -tags newest,modules,clients -diff $(packages)
	$(newest) $(staticcheck) -tags newest,modules,clients $(packages)

portable: $(clients) ## does it compile for Windows, and for 32 bits?
	GOOS=windows $(newest) go vet -tags clients $(packages)
	CGO_ENABLED=0 GOARCH=386 go build $(packages)

tidy: $(clients) ## go mod tidy in each module, against a module proxy of the work tree
	$(newest) go run ./test/modproxy/tidy

# One package at a time: ent formats its files in parallel. It also reads other
# packages of the module, and fails if one of them is being written.
generate: export GOMAXPROCS := 1
generate: ## generate ent's clients
	go generate $(packages)
	$(newest) go generate ./bench/internal/ent

check-generate: generate ## fail if generating changes what is committed
	@test -z "$$(git status --porcelain)" || { git status --short; git --no-pager diff; exit 1; }

.SECONDEXPANSION:
$(clients): %/client.go: %/generate.go $$(wildcard $$*/schema/*.go) $(wildcard ent/entid/*.go)
	GOMAXPROCS=1 $(if $(filter bench/%,$*),$(newest)) go generate ./$*
	@touch $@

release: ## prepare VERSION (such as v0.2.0) of all published modules; TAG=yes makes the tags
	go run ./test/modproxy/release $(if $(TAG),-tag) '$(VERSION)'
