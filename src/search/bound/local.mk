gtopo_core_sources += \
	%D%/bound.c \
	%D%/bound.h \
	%D%/cut.c \
	%D%/cut.h

EXTRA_DIST += %D%/README.md
