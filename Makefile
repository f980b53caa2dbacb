# The front door. What each target does is in scripts/, one file a target.
.PHONY: all run lab check test test-all test-hostile test-vm test-doctor coverage bench install wheel deb docs clean help
.DEFAULT_GOAL := all
PREFIX ?= /usr/local
DOOR ?= check

all: ## build petri into build/
	@scripts/build.sh

run: ## install what is missing, build, execute examples/tour.ipynb and the agent, write tour.html
	@scripts/run.sh

lab: ## open JupyterLab on examples/ with petri preselected
	@scripts/lab.sh

check: ## build, run what one runs while working: a minute
	@scripts/check.sh

test: ## install what is missing, build, try every kind of behaviour once: minutes
	@scripts/test.sh

test-all: ## the rest: every interpreter, every way of being started, loops, fuzzing, a virtual machine
	@scripts/test-all.sh

test-hostile: ## only the hostile cells: as root, as an ordinary user and without control groups
	@scripts/hostile.sh

test-vm: ## only the live tests in a virtual machine: Debian 12's kernel, systemd, cgroup v2
	@scripts/test-vm.sh

test-doctor: ## only what petri doctor says: in small virtual machines with other kernels, and in containers
	@scripts/test-doctor.sh

coverage: ## lines and branches that DOOR (check, test, test-all) has run: make coverage DOOR=test
	@scripts/coverage.sh "$(DOOR)"

bench: ## measure petri beside ipykernel and xeus-python
	@scripts/bench.sh

install: ## install into $(PREFIX), with kernelspecs for the python3 on the path
	@scripts/install.sh "$(PREFIX)"

wheel: ## build a wheel for pip into build/wheel/, and the source distribution
	@scripts/wheel.sh

deb: ## build the Debian package into build/, and say how to install it
	@scripts/deb.sh

docs: ## make a site of the documents and the manual pages in build/html/
	@scripts/docs.sh

clean: ## remove build/, tour.html and agent-run/
	@scripts/clean.sh

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1	/p' $(MAKEFILE_LIST) | expand -t 16
