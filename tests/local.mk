include tests/unit/local.mk
include tests/cli/local.mk
