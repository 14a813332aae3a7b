# Plimsoll: build, test, check and show. `make help` lists the targets.

GO             ?= go
GOLANGCI       := v2.15.0
TOOLS          := .plimsoll/tools
LINT           := $(TOOLS)/golangci-lint-$(GOLANGCI)
XTOOLS         := v0.52.0
DEADCODE       := $(TOOLS)/deadcode-$(XTOOLS)
GORELEASER     := v2.15.1
CYCLONEDX      := v1.10.0
# Their programs have no version in their names, so their directory has.
RELEASE        := $(TOOLS)/goreleaser-$(GORELEASER)-cyclonedx-$(CYCLONEDX)
# Of each fuzz target; without it the targets share FUZZTOTAL seconds.
FUZZTIME       ?=
FUZZTOTAL      ?= 1200
BENCHTIME      ?= 1s
TESTFLAGS      ?= -timeout=40m
# The slowdown that the demo plants in the arm "new"; FAULT=none compares a build with itself.
FAULT          ?= cpu:25%
DEMOFLAGS      ?=
SHORT          ?=
BENCHFLAGS     ?=
FAULTFLAGS     ?=
CHAOSFLAGS     ?=
ATTRIBUTIONFLAGS ?=
CURVEFLAGS     ?=
DUETFLAGS      ?=
FLEETFLAGS     ?=
SHOWFLAGS      ?=
K6FLAGS        ?=
SINCE          ?= main
comma          := ,
# Pages and files that studies write.
RESULTS        := studies/results

# A work tree that git refuses to describe (another owner, no git) builds without its revision.
ifneq ($(shell git rev-parse --verify -q HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

# The program is built without C and without the directories of this machine (scripts/build.sh). Tests are built in
# the same way: they test the shipped build, and nothing is compiled twice. The race detector needs C; its target
# enables it.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

.DELETE_ON_ERROR:
.PHONY: help demo test check format vet lint arch dead current capacity-tables calibrate bench bench-smoke duet-study fleet-100k fleet-show modules microbench faults faults-heldout chaos fuzz fuzz-smoke race gen curve build setup image release release-check notices vulnerabilities clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/' | expand -t 18

demo: ## set up, build, and compare two builds of the reference chat server as a duet, five minutes (FAULT=cpu:25% or none)
	@GO='$(GO)' FAULT='$(FAULT)' scripts/demo.sh $(DEMOFLAGS)

setup: ## install what tests and demo need, where that is possible
	@scripts/setup.sh

build: ## bin/plimsoll, static and without the debugger's tables
	@GO='$(GO)' scripts/build.sh

test: setup ## set up and run all tests, those that need the machine for themselves alone, at the end
	@GO='$(GO)' scripts/test.sh $(TESTFLAGS)

check: format lint arch dead current ## everything but the tests: format, lint with vet, shape, dead code, generated files

format: ## every Go file is formatted
	@bad=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l) || exit 1; \
	if [ -n "$$bad" ]; then echo "not formatted (gofmt -w):"; echo "$$bad"; exit 1; fi

vet: ## go vet alone, which lint contains
	$(GO) vet ./...

lint: $(LINT) ## golangci-lint, pinned, here and in each module with a Makefile; go vet is one of its parts
	@for m in . $$(git ls-files '*/Makefile' | xargs -n1 dirname); do echo "$$m: lint"; \
	(cd $$m && $(abspath $(LINT)) run ./...) || exit 1; done

# go install knows no other name than the program's own, so it is renamed to carry its version.
$(LINT):
	@mkdir -p $(TOOLS)
	GOFLAGS=-trimpath GOBIN='$(abspath $(TOOLS))' $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv $(TOOLS)/golangci-lint $@

.PHONY: lint-studies lint-new
lint: lint-studies lint-new
lint-studies: $(LINT)
	cd studies && ../$(LINT) run ./...

lint-new: $(LINT) ## soft limits of the lines that are new since a revision (SINCE=main): reported, and no failure
	@if git rev-parse --verify -q '$(SINCE)' >/dev/null; then \
	$(LINT) run -c .golangci-new.yml --new-from-merge-base='$(SINCE)' --issues-exit-code=0 ./...; fi

arch: ## the shape of the repository
	$(GO) test ./internal/arch

dead: $(DEADCODE) ## functions that no program of any module calls
	@scripts/dead.sh $(DEADCODE)

$(DEADCODE):
	@mkdir -p $(TOOLS)
	GOFLAGS=-trimpath GOBIN='$(abspath $(TOOLS))' $(GO) install golang.org/x/tools/cmd/deadcode@$(XTOOLS)
	@mv $(TOOLS)/deadcode $@

# Packages whose tests keep a generated file declare the flag -update; see gen.
GOLDEN = $(shell git grep -lE 'flag\.Bool."update"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')

current: ## generated files are current
	$(GO) test -run 'Golden|Schema|Canonical|Calibration|Print' $(GOLDEN)

gen: ## write generated and golden files anew; read the diff
	@for p in $(GOLDEN); do echo "$(GO) test $$p -update"; $(GO) test $$p -update || exit 1; done
	@git status --short

capacity-tables: ## simulate the capacity search again and write the tables of docs/method/capacity.md (three minutes)
	$(GO) test -timeout=30m -run Calibration ./run/capacity -update

calibrate: ## simulate 4,000 comparisons of each kind and write the tables of docs/method/statistics.md and attribution.md (ten minutes)
	$(GO) test -count=1 -timeout=60m ./stats
	$(GO) test -count=1 -timeout=60m -run StatisticsPage ./judge/verdict -calibrate
	$(GO) test -count=1 -timeout=120m -run AttributionPage ./judge/attribution -calibrate

bench: build ## this generator and its peers side by side, written to studies/results (SHORT=1: two minutes; BENCHFLAGS), then the Go benchmarks
	@scripts/peers.sh || echo "the rows of these peers will say FAILED"
	$(GO) build -C studies -o ../bin/bench ./bench
	bin/bench $(if $(SHORT),-short) $(BENCHFLAGS)
	$(if $(SHORT),,@$(MAKE) --no-print-directory microbench)

faults: setup build ## limit a server in known ways, score what is called the limiter, write studies/results/limiter.md (50 minutes on a quiet machine, root; SHORT=1: three faults; FAULTFLAGS)
	$(GO) build -C studies -o ../bin/faults ./faults
	bin/faults $(if $(SHORT),-runs=1 -only=db-pool$(comma)app-lock$(comma)loss,-results=$(RESULTS)) $(FAULTFLAGS)

faults-heldout: setup build ## the same with faults that the limiter's constants were not tuned on (25 minutes on a quiet machine, root; FAULTFLAGS; -dir=DIR goes on)
	$(GO) build -C studies -o ../bin/faults ./faults
	bin/faults -suite=heldout -within=25m -results=$(RESULTS) $(FAULTFLAGS)

chaos: setup build ## hostile targets before every command: what becomes of it, in studies/results/chaos.md (three minutes on two cores; CHAOSFLAGS)
	$(MAKE) --no-print-directory -C newsfeed setup build
	$(GO) build -C studies -o ../bin/chaos ./chaos
	bin/chaos $(if $(CHAOSFLAGS),,-results=$(RESULTS)) $(CHAOSFLAGS)

duet-study: setup build ## how much less a duet scatters than a sequence, quiet and beside a neighbor, written to studies/results/duet.md (an hour; DUETFLAGS='-length 20m')
	$(GO) build -C studies -o ../bin/neighbor ./bench/neighbor
	$(GO) build -C studies -o ../bin/duetstudy ./duetstudy
	bin/duetstudy $(DUETFLAGS)

fleet-100k: build ## 100,000 users with 200,000 sockets on this machine for ten minutes, in studies/results/fleet-100k.md (root; FLEETFLAGS='-users 30000 -hold 1m')
	$(GO) build -C studies -o ../bin/fleet100k ./fleet100k
	bin/fleet100k -results=$(RESULTS) $(FLEETFLAGS)

fleet-show: build ## the same plan on one process and on agents of five hosts, 13 minutes: their counts side by side (root; SHOWFLAGS='-users 50 -measure 15s')
	$(GO) build -C studies -o ../bin/fleetshow ./fleetshow
	bin/fleetshow $(SHOWFLAGS)

bench-smoke: build ## one short round of the benchmark without other programs; results stay as they are (under a minute)
	$(GO) build -C studies -o ../bin/bench ./bench
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp $(RESULTS)/benchmarks.md "$$dir/" && \
	bin/bench -short -rounds=1 -alone -only=closed$(comma)memory$(comma)record -results="$$dir"

modules: ## build, vet and test the modules beside the main one; one with a Makefile sets itself up
	@for m in $$(git ls-files '*/go.mod' | xargs -n1 dirname); do echo "$$m: build, vet, test"; \
	$(GO) build -C $$m -o /dev/null ./... && $(GO) vet -C $$m ./... || exit 1; \
	if [ -f $$m/Makefile ]; then $(MAKE) --no-print-directory -C $$m test; else $(GO) test -C $$m ./...; fi || exit 1; done

microbench: ## the Go benchmarks alone
	$(GO) test -run '^$$' -bench . -benchmem -benchtime=$(BENCHTIME) ./...

fuzz: ## every fuzz target, 20 minutes together (FUZZTIME=1m: each so long; FUZZTOTAL in seconds)
	@GO='$(GO)' FUZZTIME='$(FUZZTIME)' FUZZTOTAL='$(FUZZTOTAL)' scripts/fuzz.sh

fuzz-smoke: ## every fuzz target for 20,000 inputs, about a second, as CI does
	@GO='$(GO)' FUZZTIME=$(or $(FUZZTIME),20000x) FUZZPLAIN=1 scripts/fuzz.sh

# The race detector needs C. Tests of budgets of memory and allocations skip themselves under it (internal/race). RACE
# narrows the packages.
RACE ?= ./...
RACEFLAGS ?= -timeout=90m
race: export CGO_ENABLED = 1
race: ## tests of all packages under the race detector (RACE='./load/engine ./load/wire')
	$(GO) test -race $(RACEFLAGS) $(RACE)

curve: setup build ## comparisons of two builds with nothing or a known difference, one after the other when the machine is quiet; each is kept in studies/results/curve.md (8 minutes each; CURVEFLAGS='-n 12 -dir DIR'); killed, it goes on
	$(GO) build -C studies -o ../bin/neighbor ./bench/neighbor
	$(GO) build -C studies -o ../bin/curve ./curve
	bin/curve $(CURVEFLAGS)

.PHONY: attribution
attribution: setup build ## comparisons of builds with a known difference: is the right function or statement named first; each is kept in studies/results/attribution.md (ten minutes for four variants; ATTRIBUTIONFLAGS='-n 4 -dir DIR'); killed, it goes on
	$(GO) build -C studies -o ../bin/attribution ./attribution
	bin/attribution $(ATTRIBUTIONFLAGS)

.PHONY: bisections
bisections: setup build ## ranges of 32 builds of which one is the first with 5 % more work, or none: is it found; each is kept in studies/results/bisections.md (half an hour for one; BISECTIONSFLAGS='-n 1 -dir DIR'); killed, it goes on
	$(GO) build -C studies -o ../bin/attribution ./attribution
	bin/attribution bisect $(BISECTIONSFLAGS)

.PHONY: k6-study
k6-study: build ## the scripts of examples/k6 in k6 and in plimsoll, count by count, in studies/results/k6.md (four minutes; K6FLAGS='-only get.js')
	@scripts/peers.sh k6
	$(GO) build -C studies -o ../bin/k6study ./k6
	bin/k6study $(K6FLAGS)

# Python's packages and one of npm, by digests. pip and npm leave marks of what they installed; ours is the stamp.
SITE := $(TOOLS)/site
$(SITE)/installed: scripts/site/requirements.txt scripts/site/package-lock.json
	@rm -rf $(SITE) && mkdir -p $(SITE) && cp scripts/site/package.json scripts/site/package-lock.json $(SITE)
	python3 -m venv $(SITE)/python
	$(SITE)/python/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r scripts/site/requirements.txt
	cd $(SITE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: site
SITEDIR ?= .plimsoll/site
site: build $(SITE)/installed ## docs as a site in .plimsoll/site (SITEDIR), to be read from the disk or any web server; a broken link or anchor fails
	@$(SITE)/python/bin/python scripts/site/pages.py bin/plimsoll $(SITE)/node_modules/iframe-worker/shim/index.js .plimsoll/site-sources
	@NO_MKDOCS_2_WARNING=1 $(SITE)/python/bin/mkdocs build --strict --clean -f .plimsoll/site-sources/mkdocs.yml -d '$(abspath $(SITEDIR))'

image: ## the program as a container image from scratch, by podman; prints its digest (docs/agents-deploy.md)
	@GO='$(GO)' contrib/agents/image/build.sh plimsoll

release: $(RELEASE)/goreleaser $(RELEASE)/cyclonedx-gomod ## archives, packages, image, SBOM, checksums and provenance in dist/ (VERSION=1.2.3; nothing is published)
	@GO='$(GO)' TOOLS='$(RELEASE)' scripts/release.sh '$(VERSION)' $(TARGET)

release-check: $(RELEASE)/goreleaser $(RELEASE)/cyclonedx-gomod ## make the release of this host's processor twice, in two directories: the same bytes
	@GO='$(GO)' TOOLS='$(abspath $(RELEASE))' scripts/release-check.sh

$(RELEASE)/goreleaser:
	@mkdir -p $(RELEASE)
	GOFLAGS=-trimpath GOBIN='$(abspath $(RELEASE))' $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER)

$(RELEASE)/cyclonedx-gomod:
	@mkdir -p $(RELEASE)
	GOFLAGS=-trimpath GOBIN='$(abspath $(RELEASE))' $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX)

notices: ## write the licenses of all modules in the program anew
	$(GO) test ./cmd/internal/shipped -run Notices -update

vulnerabilities: ## known vulnerabilities that the program can reach, or "not checked" where their database cannot be had
	@GO='$(GO)' scripts/vulnerabilities.sh

clean: ## remove what was built (runs stay)
	rm -rf bin dist $(TOOLS) .plimsoll/site .plimsoll/site-sources
