# plans to bytes moved: the engine table, the host engine, the reduce loops
gtopo_core_sources += \
	%D%/engine.c \
	%D%/engine.h \
	%D%/peer_access.c \
	%D%/peer_access.h

include src/exec/cuda/local.mk
include src/exec/host/local.mk
include src/exec/link/local.mk
include src/exec/link/tcp/local.mk
include src/exec/link/verbs/local.mk
include src/exec/trace/local.mk

EXTRA_DIST += %D%/README.md
