gtopo_core_sources += \
	%D%/flow.c \
	%D%/flow.h \
	%D%/gather.c \
	%D%/marks.c \
	%D%/marks.h \
	%D%/trace.c \
	%D%/trace.h
