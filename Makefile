# `make demo` and `make test` need make, Python 3.11+ and Java 17, 21 or 25; they fetch the rest from PyPI into .venv.

.DEFAULT_GOAL := help
BESIDE := test-spark lint-and-sail
ifneq ($(MAKECMDGOALS),$(BESIDE))  # both at a time by `make test`
.NOTPARALLEL:
endif
.PHONY: help demo docs pictures check test test-core test-sail lint-and-sail class-archive test-spark matrix servers deep crash model lint bench peers measure schema lock release clean java always

# Another Spark installation or virtual environment must not be mixed with the one made here.
unexport SPARK_HOME SPARK_CONF_DIR PYSPARK_SUBMIT_ARGS PYTHONPATH PYTHONHOME VIRTUAL_ENV

# Set in many images; each of the hundreds of processes that tests start would compile all modules for itself.
unexport PYTHONDONTWRITEBYTECODE

# A stamp is worth nothing when the Python that its environment was made with is gone.
made = $(shell test -x $(1)/bin/python || echo always)

# Tests that hold for Spark and for Sail alike; those of tests/sail are of Sail alone. What has the mark `alike` is no
# matter of the engine: at each change Sail runs it, Spark in `make deep`.
SAIL_TESTS = $(sort tests/sail tests/e2e/test_demo.py $(shell grep -rlE --include 'test_*.py' 'mark\.alike' tests) \
	$(patsubst %,tests/integration/test_%.py,branches cases dbt_import examples functions histories outlets \
	outlets_published publish reads registered_writes target_contract upsert_contract upserts validations withholding writes))

# The folders whose tests must pass where Spark is not installed.
CORE_TESTS := $(wildcard tests/architecture tests/core tests/authoring tests/model tests/project tests/delta tests/sources tests/contracts tests/state tests/runtime tests/app tests/features tests/report tests/cli tests/testing tests/crash)

# The last source that MinIO published.
MINIO := v0.0.0-20260212201848-7aac2a2c5b7c

# In UNITY, a checkout of Unity Catalog's source: the last of what is built there, and what builds it.
CONNECTOR := connectors/spark/target/scala-2.13/classpath
SBT := build/sbt

TWO_PROCESSES := --numprocesses 2

# Stops with the one line that its argument holds; goes on when that is empty.
stop_if = $(if $(strip $(1)),$(error $(strip $(1))))

help:
	@echo 'make demo     run the demo project on real flights (ENGINE=sail: without Java)'
	@echo 'make check    lint, and for a minute the tests nearest to what changed since main (SINCE=main)'
	@echo 'make test     tests without Spark, lint, tests with Sail, tests with Spark'
	@echo 'make matrix   the tests of the main path on each version of Spark, or on one: SPARK=3.5; with Airflow: ONLY=airflow'
	@echo 'make servers  S3 on MinIO, which Go builds, Hive on PostgreSQL, a standalone cluster, Unity Catalog (UNITY=<checkout of v0.6.0>): killed drivers, lost answers, a busy store'
	@echo 'make deep     what is random, fifty times as long and elsewhere; what takes long, more variants; on Spark what `make test` has on Sail alone'
	@echo 'make crash    drivers killed at every moment of a run, of which `make test` takes a sample'
	@echo 'make model    the protocol of a run, its right rules and its wrong ones, in every state it can come to'
	@echo 'make lint     ruff, mypy, import-linter, drift of what is generated: JSON Schema, docs'
	@echo 'make bench    the benchmarks, and docs/performance.md from them'
	@echo 'make peers    the same pipeline by SQLMesh, dbt, Dagster and Airflow, for that page'
	@echo 'make measure  sizes, names and circles of the source'
	@echo 'make docs     the pages as a site in dist/site; broken links and anchors are errors'
	@echo 'make pictures the pictures of the pages, from the demo project (needs Chromium)'
	@echo 'make schema   write conf/schema.json, docs/reference.md and docs/cli.md anew'
	@echo 'make release  the wheel of this version in dist/, once its contents are tested; the tag is made by hand'
	@echo 'make clean    remove everything that these commands made'

demo: $(if $(filter sail,$(ENGINE)),,java) .venv/.ready
	@$(if $(ENGINE),SPARKASSETS_ENGINE=$(ENGINE)) .venv/bin/python -m jobs.demo

docs: .venv-docs/.ready
	@.venv-docs/bin/python -m jobs.site

pictures: java .venv/.ready
	@.venv/bin/python -m jobs.pictures

# The everyday check: .venv alone, no Java.
check: .venv/.ready
	@SINCE='$(or $(SINCE),main)' .venv/bin/python -m tests.architecture.nearest_tests $(filter-out tests/crash tests/model,$(CORE_TESTS))

# Sessions of Spark wait for much of their time, in which what needs no Spark is done.
test: java test-core class-archive
	@$(MAKE) --no-print-directory --jobs 2 $(BESIDE)

lint-and-sail:
	@$(MAKE) --no-print-directory lint test-sail

test-core: .venv-core/.ready
	@echo '== tests without Spark'
	@if .venv-core/bin/python -c 'import pyspark' 2>/dev/null; then echo '.venv-core holds pyspark' >&2; exit 1; fi
	@.venv-core/bin/python -m pytest $(TWO_PROCESSES) --dist worksteal -m 'not crash and not deep' --doctest-modules $(CORE_TESTS) sparkassets --ignore sparkassets/spark

test-sail: .venv/.ready
	@echo '== tests with Sail'
	@SPARKASSETS_ENGINE=sail .venv/bin/python -m pytest -m 'not deep' $(SAIL_TESTS)

# Written once by a JVM on its own, or each of the first that tests start would begin without it.
class-archive: java .venv/.ready
	@echo '== class archive of the JVM'
	@.venv/bin/python -W ignore -m sparkassets.spark > /dev/null

test-spark: java .venv/.ready
	@echo '== tests with Spark'
	@.venv/bin/python -m pytest $(TWO_PROCESSES) -m 'not crash and not deep and not alike' $(CORE_TESTS:%=--ignore=%) tests
	@.venv/bin/python -m pytest -q --doctest-modules sparkassets/spark

matrix: java .venv/.ready
	@.venv/bin/python -m tests.matrix $(SPARK) $(if $(ONLY),--$(ONLY))

deep: java .venv-core/.ready
	@FUZZ_COUNT=2000 .venv-core/bin/python -m pytest $(TWO_PROCESSES) --timeout 7200 -m 'not crash' $(CORE_TESTS)
	@.venv/bin/python -m pytest $(TWO_PROCESSES) -m 'deep or alike' tests/spark tests/integration tests/e2e

crash: java .venv/.ready
	@.venv/bin/python -m pytest $(TWO_PROCESSES) tests/crash tests/e2e/test_crash*.py

model: .venv-core/.ready
	@ulimit -v 6000000; .venv-core/bin/python -m tests.model.suite

lint: .venv/.ready
	@echo '== lint'
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/sparkassets schema | diff conf/schema.json - \
		|| { echo 'conf/schema.json is not what `sparkassets schema` prints: make schema' >&2; exit 1; }
	@.venv/bin/sparkassets schema --markdown | diff docs/reference.md - \
		|| { echo 'docs/reference.md is not what `sparkassets schema --markdown` prints: make schema' >&2; exit 1; }
	@.venv/bin/python -m sparkassets.cli.manual | diff docs/cli.md - \
		|| { echo 'docs/cli.md is not what the commands say of themselves: make schema' >&2; exit 1; }

measure: .venv/.ready
	@.venv/bin/python -m tests.architecture.measures

servers: java .venv/.ready .servers/minio $(if $(UNITY),$(UNITY)/$(CONNECTOR))
	@SPARKASSETS_MINIO=$(CURDIR)/.servers/minio SPARKASSETS_UNITY=$(abspath $(UNITY)) \
		.venv/bin/python -m pytest -p no:randomly -m 'deep or not deep' tests/servers \
		$(patsubst %,tests/integration/test_%.py,s3 faults_on_s3 requests_on_s3 report_on_s3)

.servers/minio:
	@echo '== MinIO, built by Go'
	@GOBIN=$(CURDIR)/.servers go install github.com/minio/minio@$(MINIO)

%/$(CONNECTOR):
	@echo '== Unity Catalog, built by sbt in its checkout'
	@cd $* && $(SBT) -DsparkVersion=4.2 -DskipDeltaSpark=true server/package spark/package

bench: java .venv/.ready
	@.venv/bin/python -m tests.benchmark

peers: java .venv/.ready
	@.venv/bin/python -m tests.benchmark.peers $(or $(PEERS),.peers)

schema: .venv/.ready
	@.venv/bin/sparkassets schema > conf/schema.json
	@.venv/bin/sparkassets schema --markdown > docs/reference.md
	@.venv/bin/python -m sparkassets.cli.manual > docs/cli.md

lock: .venv/.ready
	@.venv/bin/uv lock --default-index https://pypi.org/simple

release: .venv/.ready
	@.venv/bin/python -m pytest -q -m 'not spark' tests/e2e/test_wheel.py
	@rm -f dist/sparkassets-*.whl
	@.venv/bin/python -m hatchling build -t wheel -d dist
	@echo 'tag the commit by hand, with the version of the wheel'

clean:
	@rm -rf .venv .venv-core .venv-docs .matrix .peers .servers .venv.log .venv-core.log .venv-docs.log .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -rf .import_linter_cache spark-warehouse metastore_db derby.log dist build
	@find jobs sparkassets tests -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	$(call stop_if,$(shell .ci/setup java))
	@:

.venv/.ready: pyproject.toml uv.lock $(call made,.venv)
	$(info Installing the Python packages into .venv; a minute or two, the first time only)
	$(call stop_if,$(shell PYTHON='$(PYTHON)' .ci/setup venv .venv --extra spark))
	@touch $@

# Made by the uv of .venv, but beside it: what is not in here cannot be imported by accident.
.venv-core/.ready: .venv/.ready $(call made,.venv-core)
	$(info Installing the Python packages without Spark into .venv-core)
	$(call stop_if,$(shell PYTHON='$(PYTHON)' .ci/setup venv .venv-core --no-default-groups --group core-test))
	@touch $@

.venv-docs/.ready: .venv/.ready $(call made,.venv-docs)
	$(call stop_if,$(shell PYTHON='$(PYTHON)' .ci/setup venv .venv-docs --only-group docs))
	@touch $@

always:
