gtopo_core_sources += \
	%D%/fuse.c \
	%D%/fuse.h \
	%D%/read.c \
	%D%/synth.c \
	%D%/synth.h

EXTRA_DIST += %D%/README.md
