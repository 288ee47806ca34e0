gtopo_core_sources += \
	%D%/picture.c \
	%D%/picture.h \
	%D%/sentence.c \
	%D%/sentence.h \
	%D%/words.c \
	%D%/words.h

EXTRA_DIST += %D%/README.md
