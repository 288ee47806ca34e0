gtopo_core_sources += \
	%D%/link.c \
	%D%/proxy.c \
	%D%/receive.c \
	%D%/send.c \
	%D%/share.c \
	%D%/tcp.h

EXTRA_DIST += %D%/README.md
