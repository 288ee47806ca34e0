gtopo_core_sources += \
	%D%/gather.c \
	%D%/marks.c \
	%D%/marks.h \
	%D%/p2p.c \
	%D%/p2p.h \
	%D%/trace.c \
	%D%/trace.h

EXTRA_DIST += %D%/README.md
