# Cases are files under tests/cases: adding one needs no line here.
EXTRA_DIST += tests/cases tests/circles.py tests/driver.sh \
	tests/folders.order tests/layers.order tests/multi tests/mutation \
	tests/package tests/python tests/schedule.h tests/sums.h tests/draw.h \
	tests/tap.sh tests/vm
TESTS =
check_PROGRAMS =
check_DATA =
unit_tests =
cli_tests =
gates =

include tests/unit/local.mk
include tests/cli/local.mk
include tests/completion/local.mk
include tests/detect/local.mk
include tests/diff/local.mk
include tests/lint/local.mk
include tests/topo/local.mk
include tests/fuzz/local.mk
include tests/plan/local.mk
include tests/verbs/local.mk
include tests/gpu/local.mk
include tests/sim/local.mk
include tests/nccl/local.mk

gates += \
	%D%/check-driver.sh \
	%D%/check-examples.sh \
	%D%/check-glossary.sh \
	%D%/check-layers.sh \
	%D%/check-python.sh \
	%D%/check-style.sh \
	%D%/check-docs.sh

# Needs bench/errors, which is no test's.
cli_tests += %D%/errors.sh

# System calls fail one by one, for which it needs a library.
gates += %D%/nth-failure.sh
check_DATA += tests/cli/libfailing_calls.so
EXTRA_DIST += %D%/coverage.sh

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
gates += %D%/check-cmocka.sh
endif
TESTS += $(cli_tests) $(gates)

TEST_EXTENSIONS = .bats .sh
LOG_DRIVER = $(SHELL) $(top_srcdir)/tests/driver.sh
BATS_LOG_DRIVER = $(LOG_DRIVER)
BATS_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/cli/run-bats.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = bash

# What tests know: the program, the sources, and the folder of real
# topologies if the caller has one (those tests skip without it).
AM_TESTS_ENVIRONMENT = \
	GTOPO='$(abs_top_builddir)/gtopo'; export GTOPO; \
	GTOPO_SRC='$(abs_top_srcdir)'; export GTOPO_SRC; \
	unset LC_ALL LANGUAGE NO_COLOR; LC_ALL=C.UTF-8; export LC_ALL;

EXTRA_DIST += $(gates) %D%/check-cmocka.sh
