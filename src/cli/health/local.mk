gtopo_core_sources += \
	%D%/prometheus.c \
	%D%/prometheus.h \
	%D%/reach.c \
	%D%/reach.h

EXTRA_DIST += %D%/README.md
