# which GPUs of a machine to take
gtopo_core_sources += \
	%D%/joined.c \
	%D%/joined.h \
	%D%/network.c \
	%D%/network.h \
	%D%/pick.c \
	%D%/pick.h \
	%D%/read.c \
	%D%/routes.c \
	%D%/routes.h \
	%D%/several.c \
	%D%/several.h \
	%D%/several_read.c \
	%D%/stock.c \
	%D%/stock.h \
	%D%/worth.c \
	%D%/worth.h

EXTRA_DIST += %D%/README.md
