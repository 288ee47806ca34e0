if HAVE_VERBS
gtopo_core_sources += \
	%D%/direct.c \
	%D%/distance.c \
	%D%/event.c \
	%D%/link.c \
	%D%/port.c \
	%D%/proxy.c \
	%D%/qp.c \
	%D%/verbs.h
endif

EXTRA_DIST += %D%/README.md
