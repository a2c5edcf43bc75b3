# Thin front of the meson build. The two commands of a fresh machine are `make demo` and `make test`.
BUILD  ?= build
PREFIX ?= /usr/local
MESON_ARGS ?=

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_ARGS)

deps:
	@tools/deps

demo: deps all
	@tools/demo $(BUILD)

demo-watch: deps all
	@tools/demo --watch $(BUILD)

test: deps all
	@tests/run $(BUILD)

e2e-basic e2e-scale e2e-robustness: deps all
	@tests/run --e2e=$(@:e2e-%=%) $(BUILD)

bench: deps all
	@bench/run $(BUILD)

lint:
	@tools/lint

format:
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.cpp' | grep -v utf8_widths)

install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	@rm -rf $(BUILD) build-*

.PHONY: all deps demo demo-watch test e2e-basic e2e-scale e2e-robustness bench lint format install clean
