EXTRA_DIST += %D%/README.md

# needs no GPU, so that it is tested without one
gtopo_core_sources += \
	%D%/bundle.c \
	%D%/bundle.h

if HAVE_CUDA
gtopo_core_sources += \
	%D%/connect.c \
	%D%/connect.h \
	%D%/diagnose.c \
	%D%/diagnose.h \
	%D%/engine.c \
	%D%/enqueue.c \
	%D%/enqueue.h \
	%D%/group.c \
	%D%/group.h \
	%D%/host_state.c \
	%D%/host_state.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/program.c \
	%D%/program.h \
	%D%/proxy.c \
	%D%/proxy.h \
	%D%/registration.c \
	%D%/registration.h \
	%D%/row.c \
	%D%/row.h \
	%D%/run.c \
	%D%/run.h \
	%D%/sendrecv.c \
	%D%/sendrecv.h \
	%D%/sizing.c \
	%D%/sizing.h \
	%D%/stream.c \
	%D%/stream.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/tuning.c \
	%D%/tuning.h \
	%D%/user_buffers.c \
	%D%/user_buffers.h
endif

include src/exec/cuda/device/local.mk
include src/exec/cuda/p2p/local.mk
