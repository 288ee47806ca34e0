gtopo_core_sources += \
	%D%/data.c \
	%D%/engine.c \
	%D%/host.h \
	%D%/lanes.c \
	%D%/memory.c \
	%D%/rank.c \
	%D%/reduce.c \
	%D%/reduce.h \
	%D%/reduce_avx2.c \
	%D%/reduce_loops.h \
	%D%/reduce_plain.c \
	%D%/step.c \
	%D%/watch.c

EXTRA_DIST += %D%/README.md
