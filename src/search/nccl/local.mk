gtopo_core_sources += \
	%D%/answer.c \
	%D%/answer.h \
	%D%/remedy.c \
	%D%/remedy.h

EXTRA_DIST += %D%/README.md
