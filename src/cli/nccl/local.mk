gtopo_core_sources += \
	%D%/file.c \
	%D%/file.h \
	%D%/log.c \
	%D%/log.h \
	%D%/print.c \
	%D%/print.h \
	%D%/print_json.c

EXTRA_DIST += %D%/README.md
