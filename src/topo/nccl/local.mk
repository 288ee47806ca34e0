gtopo_core_sources += \
	%D%/advice.c \
	%D%/advice.h \
	%D%/choose.c \
	%D%/choose.h \
	%D%/comms.c \
	%D%/comms.h \
	%D%/fill.c \
	%D%/fill.h \
	%D%/graph_file.c \
	%D%/graph_file.h \
	%D%/limits.c \
	%D%/limits.h \
	%D%/load.c \
	%D%/load.h \
	%D%/log.c \
	%D%/log.h \
	%D%/order.c \
	%D%/order.h \
	%D%/reason.c \
	%D%/reason.h \
	%D%/rules.c \
	%D%/rules.h \
	%D%/seen.c \
	%D%/seen.h \
	%D%/spread.c \
	%D%/spread.h \
	%D%/system.c \
	%D%/system.h

EXTRA_DIST += %D%/README.md
