EXTRA_DIST += %D%/README.md

if HAVE_CUDA
gtopo_core_sources += \
	%D%/closing_turn.c \
	%D%/closing_turn.h \
	%D%/devices.c \
	%D%/driver.c \
	%D%/driver.h \
	%D%/gdr_memory.c \
	%D%/host_memory.c \
	%D%/host_memory.h \
	%D%/ipc_memory.c \
	%D%/ipc_memory.h \
	%D%/peers.c \
	%D%/region_exchange.c \
	%D%/region_exchange.h \
	%D%/state.c \
	%D%/state.h \
	%D%/trace_record.c \
	%D%/trace_record.h
endif
