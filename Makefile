# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make            the program, .build/gvlscope
# make check      all tests
# make fuzz       one minute of each fuzzer on the kept corpus (FUZZ_SECONDS=60, FUZZ_SEED=1; 0: any)
# make WERROR=    warnings do not stop the build

B := .build
CC ?= cc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG := libbpf libelf libdw capstone libzstd zlib jansson libseccomp
ARCH := $(shell uname -m | sed 's/aarch64/arm64/;s/x86_64/x86/')
VERSION := $(shell cat VERSION)

WERROR := -Werror
WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wtype-limits -fno-common $(WERROR)
BPF_WARN := $(WARN) -Wno-missing-prototypes -Wno-unused-parameter
CFLAGS ?= -O2 -g
CPPFLAGS += -Iuser -I. -I$(B) -D_GNU_SOURCE -DGVLSCOPE_VERSION='"$(VERSION)"' \
	$(shell pkg-config --cflags $(PKG))
LDLIBS += $(shell pkg-config --libs $(PKG)) -lm

BPF_SRC := $(wildcard bpf/*.bpf.c)
SKEL := $(B)/bpf/gvlscope.skel.h
SRC := $(filter-out user/main.c,$(wildcard user/*/*.c))
OBJ := $(SRC:%.c=$(B)/%.o)
LIB := $(B)/libgvlscope.a
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*.c))

all: $(B)/gvlscope

$(B)/gvlscope: $(B)/user/main.o $(LIB)
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(B)/%.o: %.c $(MAKEFILE_LIST) VERSION | $(SKEL)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARN) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# clang names the structure types of BTF; the DWARF is stripped, the BTF stays.
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -I. $(BPF_WARN) \
		-MMD -MP -c -o $@ $<

$(B)/bpf/gvlscope.o: $(BPF_SRC:%.c=$(B)/%.o)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(B)/bpf/gvlscope.o
	$(BPFTOOL) gen skeleton $< name gvlscope_bpf > $@.new && mv $@.new $@

# The BPF side must stay ready for the other architecture.
$(B)/bpf/%.arm64.o: bpf/%.bpf.c $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_arm64 -I. $(BPF_WARN) \
		-c -o $@ $<
arm64: $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.arm64.o)

# The BPF programs are compiled natively, with headers that stand in for libbpf's.
$(B)/tests/unit/bpf_test.o $(B)/tests/unit/bpf_close_test.o: CPPFLAGS := -Itests/stub $(CPPFLAGS)

$(B)/tests/%: $(B)/tests/unit/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# What benchmarks and tests run.
$(B)/tools/%: $(B)/tests/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# What scripts/gen-layouts runs. Without the table that it makes.
$(B)/tools/layout-row: $(B)/tests/tools/layout_row.o \
		$(patsubst %,$(B)/user/%.o,target/layout target/layout_dwarf target/dwarf_file \
		util/err util/reason)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# Libraries whose DWARF the tests read.
$(B)/tests/fixtures/%.so: tests/fixtures/%.c $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O0 -g -shared -nostdlib -o $@ $<
$(B)/tests/layout_test: | $(patsubst %,$(B)/tests/fixtures/layout_%.so,old new partial)

# Fuzzers and what they reach are compiled apart, with sanitizers.
SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
$(B)/san/%.o: %.c $(MAKEFILE_LIST) VERSION | $(SKEL)
	@mkdir -p $(@D)
	$(CLANG) -std=gnu11 -O1 -g $(SAN) $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(B)/fuzz/%: $(B)/san/tests/fuzz/%.o $(SRC:%.c=$(B)/san/%.o)
	@mkdir -p $(@D)
	$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

# Tests of the reference implementations once more, for AddressSanitizer and for ThreadSanitizer.
REF_SRC := $(wildcard user/ref/*.c user/event/*.c user/stat/*.c user/util/*.c) user/render/unit.c
REF_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/ref_*_test.c))
$(B)/asan/%: $(B)/san/tests/unit/%.o $(REF_SRC:%.c=$(B)/san/%.o)
	@mkdir -p $(@D)
	$(CLANG) -fsanitize=address,undefined -o $@ $^ -lcmocka $(LDLIBS)
$(B)/tsan/%.o: %.c $(MAKEFILE_LIST) VERSION
	@mkdir -p $(@D)
	$(CLANG) -std=gnu11 -O1 -g -fsanitize=thread $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(B)/tsan/%: $(B)/tsan/tests/unit/%.o $(REF_SRC:%.c=$(B)/tsan/%.o)
	@mkdir -p $(@D)
	$(CLANG) -fsanitize=thread -o $@ $^ -lcmocka $(LDLIBS)
ref-tests: $(foreach d,tests asan tsan,$(REF_TESTS:%=$(B)/$d/%))

$(B)/tests/%.o: tests/%.c $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARN) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

FUZZ_SECONDS ?= 60
fuzz: $(FUZZ)
	tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ)

TOOLS := trace-gen trace_dump switches measure frame_line closefn copyfn libcopy replay gate_simulate
check: all $(UNIT) $(TOOLS:%=$(B)/tools/%) arm64
	tests/run $(UNIT) $(sort $(wildcard tests/*.t))

clean:
	rm -rf $(B)/user $(B)/tests $(B)/bpf $(B)/san $(B)/asan $(B)/tsan $(B)/fuzz $(B)/tools \
		$(LIB) $(B)/gvlscope

-include $(OBJ:.o=.d) $(B)/user/main.d $(UNIT:$(B)/tests/%=$(B)/tests/unit/%.d) \
	$(BPF_SRC:%.c=$(B)/%.d) \
	$(wildcard $(B)/tests/tools/*.d $(B)/san/*/*/*.d $(B)/tsan/*/*/*.d)
.PHONY: all check fuzz ref-tests clean arm64
.SECONDARY:
.DELETE_ON_ERROR:
