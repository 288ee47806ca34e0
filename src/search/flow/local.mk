gtopo_core_sources += \
	%D%/assign_paths.c \
	%D%/paths.c \
	%D%/paths.h \
	%D%/shape.c
