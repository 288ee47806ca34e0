gtopo_core_sources += \
	%D%/machine.c \
	%D%/machine.h \
	%D%/verdict.c \
	%D%/verdict.h
