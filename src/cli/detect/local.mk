gtopo_core_sources += \
	%D%/gather.c \
	%D%/gather.h \
	%D%/measure.c \
	%D%/measure.h \
	%D%/ranks.c \
	%D%/ranks.h \
	%D%/xml.c \
	%D%/xml.h

EXTRA_DIST += %D%/README.md
