gtopo_core_sources += \
	%D%/bell.c \
	%D%/bell.h \
	%D%/fd_passing.c \
	%D%/fd_passing.h \
	%D%/fifo.h \
	%D%/link.h \
	%D%/nic_of_rank.c \
	%D%/nic_of_rank.h \
	%D%/null.c \
	%D%/process_group.c \
	%D%/process_group.h \
	%D%/proxied_fifo.c \
	%D%/proxied_fifo.h \
	%D%/proxied_link.c \
	%D%/proxied_link.h \
	%D%/shared_memory.c \
	%D%/shared_memory.h \
	%D%/shm.c \
	%D%/trace.c

EXTRA_DIST += %D%/README.md
