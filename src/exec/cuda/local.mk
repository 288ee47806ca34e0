EXTRA_DIST += %D%/README.md

# needs no GPU, so that it is tested without one
gtopo_core_sources += \
	%D%/bundle.c \
	%D%/bundle.h

if HAVE_CUDA
gtopo_core_sources += \
	%D%/connect.c \
	%D%/demand.c \
	%D%/diagnose.c \
	%D%/engine.c \
	%D%/enqueue.c \
	%D%/fifos.h \
	%D%/group.c \
	%D%/ledger.c \
	%D%/ledger.h \
	%D%/mesh.c \
	%D%/pieces.c \
	%D%/program.c \
	%D%/proxy.c \
	%D%/region_budget.c \
	%D%/region_budget.h \
	%D%/registration.c \
	%D%/registration.h \
	%D%/requests.h \
	%D%/reserve.c \
	%D%/row.c \
	%D%/run.c \
	%D%/sendrecv.c \
	%D%/slicing.c \
	%D%/stream.c \
	%D%/trace.c \
	%D%/tuning.c \
	%D%/user_buffers.c \
	%D%/user_buffers.h
endif

include src/exec/cuda/device/local.mk
include src/exec/cuda/p2p/local.mk
