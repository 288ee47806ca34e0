gtopo_core_sources += \
	%D%/choice.c \
	%D%/choice.h \
	%D%/print.c \
	%D%/print.h

EXTRA_DIST += %D%/README.md
