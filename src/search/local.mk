# from a topology and a request to a plan
gtopo_core_sources += \
	%D%/search.c \
	%D%/search.h

EXTRA_DIST += %D%/README.md

include src/search/bound/local.mk
include src/search/cluster/local.mk
include src/search/emit/local.mk
include src/search/flow/local.mk
include src/search/graph/local.mk
include src/search/job/local.mk
include src/search/lp/local.mk
include src/search/multicast/local.mk
include src/search/nccl/local.mk
include src/search/pick/local.mk
include src/search/planner/local.mk
include src/search/problem/local.mk
include src/search/rails/local.mk
include src/search/ring/local.mk
include src/search/tree/local.mk
include src/search/uneven/local.mk
include src/search/whatif/local.mk
