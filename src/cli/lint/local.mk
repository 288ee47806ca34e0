gtopo_core_sources += \
	%D%/print.c \
	%D%/print.h
