gtopo_core_sources += \
	%D%/interop.h \
	%D%/k8s.c \
	%D%/slurm.c \
	%D%/span.c \
	%D%/span.h \
	%D%/vm.c \
	%D%/vm_map.c \
	%D%/vm_map.h

EXTRA_DIST += %D%/README.md
