gtopo_core_sources += \
	%D%/common_hops.c \
	%D%/common_hops.h \
	%D%/emit.c \
	%D%/emit.h \
	%D%/merge.c \
	%D%/merge.h \
	%D%/plan_builder.c \
	%D%/plan_builder.h \
	%D%/select_by_size.c \
	%D%/select_by_size.h
EXTRA_DIST += %D%/README.md
