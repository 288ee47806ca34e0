if HAVE_CUDA
gtopo_core_sources += \
	%D%/choose.c \
	%D%/connect.c \
	%D%/copy_engine.c \
	%D%/detour.c \
	%D%/detour.h \
	%D%/detour_buffers.c \
	%D%/diagnose.c \
	%D%/driver.c \
	%D%/driver.h \
	%D%/engine.c \
	%D%/engine.h \
	%D%/gdr_memory.c \
	%D%/group.c \
	%D%/ipc_memory.c \
	%D%/map.c \
	%D%/p2p.c \
	%D%/premul.c \
	%D%/program.c \
	%D%/proxy.c \
	%D%/run.c \
	%D%/scratch_reduce.c \
	%D%/scratch_reduce_group.c \
	%D%/sendrecv.c \
	%D%/stream.c \
	%D%/trace.c \
	%D%/trace.h \
	%D%/tuning.c \
	%D%/user_buffers.c \
	%D%/user_buffers.h \
	%D%/user_buffers_share.c
endif
