gtopo_core_sources += \
	%D%/emit.c \
	%D%/emit.h \
	%D%/flow.c \
	%D%/merge.c \
	%D%/merge.h \
	%D%/proof.c \
	%D%/proof.h \
	%D%/select_by_size.c \
	%D%/select_by_size.h
