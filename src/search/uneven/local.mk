gtopo_core_sources += \
	%D%/balance.c \
	%D%/balance.h \
	%D%/grow.c \
	%D%/grow.h \
	%D%/heap.c \
	%D%/heap.h \
	%D%/mix.c \
	%D%/mix.h \
	%D%/nearest.c \
	%D%/nearest.h \
	%D%/search.c \
	%D%/search.h \
	%D%/ways.c \
	%D%/ways.h

EXTRA_DIST += %D%/README.md
