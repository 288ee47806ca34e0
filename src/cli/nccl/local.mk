gtopo_core_sources += \
	%D%/print.c \
	%D%/print.h \
	%D%/print_json.c

EXTRA_DIST += %D%/README.md
