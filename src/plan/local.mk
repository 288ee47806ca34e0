# plans: model, JSON, lowering to programs, checks, simulation

include src/plan/check/local.mk
include src/plan/cost/local.mk
include src/plan/interop/local.mk
include src/plan/ir/local.mk
include src/plan/json/local.mk
include src/plan/lower/local.mk
include src/plan/simulate/local.mk

EXTRA_DIST += %D%/README.md
