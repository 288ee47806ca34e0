gtopo_core_sources += \
	%D%/interop.h \
	%D%/k8s.c \
	%D%/slurm.c \
	%D%/span.c \
	%D%/span.h

EXTRA_DIST += %D%/README.md
