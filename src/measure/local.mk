# rates and latencies between GPUs and the host
gtopo_core_sources += \
	%D%/measure.c \
	%D%/measure.h \
	%D%/memory.c \
	%D%/memory.h

if HAVE_CUDA
gtopo_core_sources += \
	%D%/mover_cuda.c \
	%D%/mover_cuda.h \
	%D%/mover_cuda_move.c
endif

EXTRA_DIST += %D%/README.md
