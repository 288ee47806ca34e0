gtopo_core_sources += \
	%D%/machine.c \
	%D%/machine.h \
	%D%/parse.c \
	%D%/parse.h \
	%D%/soak.c \
	%D%/soak.h \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/world.c \
	%D%/world.h
