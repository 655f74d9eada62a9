# Snowkey's everyday commands. make alone lists them.

# go.work lists the modules. lowest.work has only the libraries and their tests, with the
# lowest versions that the libraries require. newest.work has all modules, such as bench.
module      := github.com/snowkey-go/snowkey
packages    := $(module)/...
programs    := $(addprefix $(module)/,cmd/... examples/...)
lowest      := env GOWORK=$(CURDIR)/lowest.work
newest      := env GOWORK=$(CURDIR)/newest.work
withdb       = go run ./internal/dbtest/withdb $(if $(STRICT),-all)
staticcheck := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
benchstat   := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# STRICT=1 demands all databases and programs. Otherwise, tests whose programs can't be had are left out.
STRICT ?=

# -count=1, because some tests read files that the test cache of go does not track.
TESTFLAGS  ?= -count=1
# What the summary at the end leaves out. At night it has the tests that did not run, with the reason.
SUMMARY    ?= skipped
# How the tests report: pkgname prints a line for each package as it ends.
FORMAT     ?= pkgname
# Most tests wait for a server, so more of them than processors run at a time.
gotest      = go run gotest.tools/gotestsum@v1.13.0 --format=$(FORMAT) --format-hide-empty-pkg --hide-summary=$(SUMMARY) -- -p 4 -parallel 8
BENCH      ?= .
COUNT      ?= 10
BENCHFLAGS ?=
FUZZTIME   ?= 20000x
CHAOS      ?= 3m
N          ?= 60
BUSY       ?= 10
DB         ?= postgres mysql
NEWGO      ?= go1.27.0

# ent's clients that are not in the repository. The tag clients is set where they are.
clients := test/entid/internal/ent/client.go test/matrix/ent/client.go
# Those of the modules in newest.work.
newclients := bench/internal/ent/client.go test/entgql/ent/client.go

# The folders whose tests have functions that begin with a word. go test -list would
# compile the tests of all packages.
folders = $(sort $(dir $(shell grep -rl --include='*_test.go' '^func $(1)' .)))

# The servers of make test-servers, which dbtest fetches. SNOWKEY_TEST_DB knows these names.
SERVERS    ?= postgres14 postgres16 postgres17 postgres18 mysql9 mariadb11

# The packages whose tests open databases.
sqlpackages = $(shell $(lowest) go list -tags clients -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' $(packages) | sed -n 's,\([^ ]*\) .*/internal/dbtest[] ].*,\1,p')

# The packages that have more tests at night, or try more points.
nightlypackages = $(shell grep -rlE --include='*_test.go' '^//go:build.*nightly|dbtest\.(Points|Nightly)' . | xargs -n1 dirname | sort -u | grep -v '^\./test/etcd$$')

# The packages that start goroutines or use atomics.
racing := $(module) $(addprefix $(module)/,idgen/... internal/keeper lease/... service/...)

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

clients: $(clients) $(newclients)

# Three sets of tests: test, check and nightly. CONTRIBUTING.md says what is in each, and why.
test: $(clients) ## what each push must pass, on SQLite, and on Postgres and MySQL or MariaDB if they can be had; STRICT=1 demands all
	$(lowest) $(withdb) $(gotest) -tags clients -timeout 10m $(TESTFLAGS) $(packages)
	$(withdb) $(gotest) -timeout 10m $(TESTFLAGS) $(programs)

check: ## what each pull request must pass: test, lint, the race detector, each module by itself, and quickstart
	.ci/run

nightly: ## everything else, as one command: versions, clusters, proxies, chaos, models, fuzz, mutants; STEPS chooses some
	.ci/nightly $(STEPS)

test-race: ## the packages that start goroutines, with the race detector; needs a C compiler
	SNOWKEY_TEST_DB=sqlite $(gotest) -race -timeout 10m $(TESTFLAGS) $(racing)

test-modules: ## each module without the workspace, and programs that add Snowkey
	$(gotest) -tags modules -timeout 30m $(TESTFLAGS) ./test/modproxy/...

test-nightly: SUMMARY := none
test-nightly: $(clients) ## the tests with the tag nightly, and all points of those that otherwise try some
	$(lowest) $(withdb) $(gotest) -tags clients,nightly -timeout 60m $(TESTFLAGS) $(nightlypackages)

test-newest: $(clients) $(newclients) ## the integrations and bench with the newest releases of the ORMs and drivers
	$(withdb) $(newest) $(gotest) -tags newest,clients $(TESTFLAGS) $(addprefix $(module)/,hooks/... ent/... test/entid/... test/gormid/... test/bunid/... test/pgxid/... test/matrix/... test/kubernetes/... test/entgql/... test/migrations/... test/recipes/... bench/...)

test-etcd: ## leases in etcd, on members of the newest etcd
	$(newest) $(gotest) -tags nightly -timeout 20m $(TESTFLAGS) ./test/etcd

test-go: ## ids, keys and JSON with the newest Go, NEWGO, and so with encoding/json/v2
	GOTOOLCHAIN=$(NEWGO) go vet . ./idgen/... ./lease/... ./schema/... ./hooks/sqlid/...
	GOTOOLCHAIN=$(NEWGO) SNOWKEY_TEST_DB=sqlite $(gotest) $(TESTFLAGS) ./idgen/... ./schema/... ./test/pk/... ./examples/web/...

test-servers: $(clients) ## the tests that open databases, on each of SERVERS (postgres14 postgres16 postgres17 postgres18 mysql9 mariadb11), which it fetches
	@failed=; export SNOWKEY_TEST_POSTGRES= SNOWKEY_TEST_MYSQL=; for server in $(SERVERS); do echo "make test-servers: $$server"; export SNOWKEY_TEST_DB=$$server; \
		{ $(lowest) $(withdb) $(gotest) -tags clients -timeout 20m $(TESTFLAGS) $(module)/internal/dbtest $(sqlpackages) && \
			$(withdb) $(gotest) -timeout 20m $(TESTFLAGS) $(programs); } || failed="$$failed $$server"; \
	done; test -z "$$failed" || { echo "make test-servers: failed on$$failed"; exit 1; }

test-suites: ## the suites of GORM, ent and bun with the hooks on and off, from the checkouts GORM_SRC, ENT_SRC and BUN_SRC
	@test -n "$(GORM_SRC)$(ENT_SRC)$(BUN_SRC)" || { echo "make test-suites: set GORM_SRC, ENT_SRC or BUN_SRC to a checkout of github.com/go-gorm/gorm, ent/ent or uptrace/bun"; exit 1; }
	GORM_SRC='$(abspath $(GORM_SRC))' ENT_SRC='$(abspath $(ENT_SRC))' BUN_SRC='$(abspath $(BUN_SRC))' $(lowest) $(withdb) go test -tags suites -v $(TESTFLAGS) -timeout 0 \
		-run '^Test($(if $(GORM_SRC),GORM,none)|$(if $(ENT_SRC),Ent,none)|$(if $(BUN_SRC),Bun,none))$$' ./test/suites

models: ## search the models of the lease protocol; needs spin and a C compiler
	lease/model/check.sh

mutants: STRICT := 1
mutants: $(clients) ## plant faults, one at a time, each of which make test must find; MUTANTS='gormid|keeper' plants some
	$(withdb) go run ./test/mutants '$(MUTANTS)'

chaos: ## faults of 32 processes, their database and network, for CHAOS (3m) on each database
	SNOWKEY_CHAOS=$(CHAOS) go test -tags nightly -count=1 -v -timeout 0 -run '^TestNightlyChaos$$' ./test/chaos

chaos-repeat: ## the short chaos test, N (60) times on each server of DB, beside BUSY (10) busy loops
	N='$(N)' BUSY='$(BUSY)' DB='$(DB)' ./test/chaos/repeat.sh

# Each of COUNT (10) runs has its functions in another order, which changes what a call
# costs after a pause.
bench: $(clients) $(newclients) ## Go benchmarks (BENCH) beside the peers, compared by benchstat; needs a quiet machine
	@set -e; for i in $$(seq $(COUNT)); do \
		$(newest) GOTOOLCHAIN=$(NEWGO) go test -tags clients -c -ldflags=-randlayout=$$i -o bench/bench.test ./bench; \
		(cd bench && ./bench.test -test.run='^$$' -test.bench='$(BENCH)' -test.cpu=1,$$(nproc)); \
	done | tee bench/bench.out
	$(benchstat) -col /by bench/bench.out

bench-servers: $(clients) $(newclients) ## inserts and starts on private database servers, with BENCHFLAGS; needs a quiet machine
	GOTOOLCHAIN=$(NEWGO) $(newest) go run ./bench $(BENCHFLAGS)

bench-once: $(clients) $(newclients) ## run every benchmark once
	$(withdb) $(newest) go test -tags clients -run='^$$' -bench=. -benchtime=1x $(TESTFLAGS) $(call folders,Benchmark)

# The limit is a number of inputs. Before Go 1.27, go test sometimes reports the end
# of a time limit as a failure (go.dev/issue/75804).
fuzz: ## every fuzz target with FUZZTIME (20000x) inputs
	@set -e; list=$$(go test -list '^Fuzz' $(call folders,Fuzz)); targets=$$(echo "$$list" | \
		awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 "=" name[i]; n = 0 }'); \
	test -n "$$targets" || { echo "make fuzz: found no fuzz target"; exit 1; }; \
	for target in $$targets; do \
		echo "$${target#*=}"; \
		go test -run='^$$' -fuzz="^$${target#*=}\$$" -fuzztime=$(FUZZTIME) "$${target%=*}"; \
	done

# The same versions and tags as make test, so that each dependency is compiled once.
tags := clients,man,modules,nightly
lint: $(clients) ## check with gofmt, go vet, go fix, staticcheck and govulncheck, and that each mutant still applies
	@echo gofmt; ! gofmt -l . | grep .
	@for patch in test/mutants/*.patch; do git apply --check $$patch || exit 1; done
	$(lowest) go vet -tags $(tags) $(packages)
	$(lowest) go fix -tags $(tags) -diff $(packages)
	$(lowest) $(staticcheck) -tags $(tags) $(packages)
	go vet -tags $(tags) $(programs)
	go fix -tags $(tags) -diff $(programs)
	$(staticcheck) -tags $(tags) $(programs)
	.ci/vulncheck

lint-newest: $(clients) $(newclients) ## the same with the newest versions, and with the modules that require them
	$(newest) go vet -tags newest,$(tags) $(packages)
	$(newest) go fix -tags newest,$(tags) -diff $(packages)
	@# What the newest versions call deprecated may be all that the lowest ones have.
	$(newest) $(staticcheck) -tags newest,$(tags) -checks inherit,-SA1019 $(packages)

# ent's generator, which entgql and entidgen import, does not compile for 32 bits.
portable: $(clients) $(newclients) ## compile everything for Windows and for 32 bits, and test ids, keys and leases on 32 bits
	GOOS=windows $(newest) go vet -tags clients $(packages)
	CGO_ENABLED=0 GOARCH=386 $(newest) go vet -tags clients $$($(newest) go list -tags clients $(packages) | grep -vE '/test/entgql|/entidgen')
	@# Some virtual machines cannot run programs of 32 bits; the line above has compiled the tests.
	@if CGO_ENABLED=0 GOARCH=386 go test -run='^$$' ./lease 2>&1 | grep 'exec format error'; then \
		echo "make portable: this machine does not run programs of 32 bits: their tests are only compiled"; \
	else \
		CGO_ENABLED=0 GOARCH=386 go test ./idgen/... ./schema/pk/... ./lease/... ./token/... ./internal/keeper; \
	fi

size: ## count lines, exported names and words
	@.ci/size

tidy: $(clients) $(newclients) ## go mod tidy in each module, against a module proxy of the work tree
	$(newest) go run ./test/modproxy/tidy

# One package at a time: ent formats its files in parallel. It also reads other
# packages of the module, and fails if one of them is being written.
generate: export GOMAXPROCS := 1
generate: ## generate the clients of ent and sqlc
	go generate $(packages)
	$(newest) go generate ./bench/internal/ent ./test/entgql/ent

check-generate: generate ## fail if generating changes what is committed
	@test -z "$$(git status --porcelain)" || { git status --short; git --no-pager diff; exit 1; }

.SECONDEXPANSION:
$(clients) $(newclients): %/client.go: %/generate.go $$(wildcard $$*/entc.go $$*/schema/*.go) $(wildcard ent/entid/*.go ent/entid/entidgen/*.go)
	GOMAXPROCS=1 $(if $(filter $@,$(newclients)),$(newest)) go generate ./$*
	@touch $@

# One binary for each system, without cgo, the same bytes from the same commit and Go
# release. Each has a list of its modules beside it, in the format CycloneDX.
cyclonedx := go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
committed  = $(shell git log -1 --format=%ct)
dist: ## static binaries of cmd/snowkey for linux, darwin and windows in bin/dist, with SBOMs, manual pages and checksums
	rm -rf bin/dist && mkdir -p bin/dist/man
	@set -e; for system in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		name=snowkey-$$(echo $$system | tr / -); \
		file=bin/dist/$$name$$(case $$system in windows/*) echo .exe;; esac); \
		echo $$file; \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} go build -trimpath -ldflags='-s -w' -o $$file ./cmd/snowkey; \
		$(cyclonedx) bin -json -std -noserial -notimestamp -output bin/dist/$$name.cdx.json $$file; \
	done
	SOURCE_DATE_EPOCH=$(committed) go run -tags man ./cmd/snowkey bin/dist/man
	tar --sort=name --owner=0 --group=0 --mtime=@$(committed) -C bin/dist -c man | gzip -n >bin/dist/snowkey-man.tar.gz
	rm -r bin/dist/man
	cd bin/dist && sha256sum snowkey-* > SHA256SUMS && cat SHA256SUMS
	@bin/dist/snowkey-$$(go env GOHOSTOS)-$$(go env GOHOSTARCH) layout default

image: ## an OCI image of cmd/snowkey for linux in bin/image, without Docker; PROGRAM=./examples/production for another
	go run ./test/image -o bin/image $(or $(PROGRAM),./cmd/snowkey)

release: ## prepare VERSION (such as v0.2.0) of all published modules; TAG=yes makes the tags
	go run ./test/modproxy/release $(if $(TAG),-tag) '$(VERSION)'
