gtopo_core_sources += \
	%D%/words.c \
	%D%/words.h

EXTRA_DIST += %D%/README.md
