gtopo_core_sources += \
	%D%/assign_paths.c \
	%D%/assignment.c \
	%D%/assignment.h \
	%D%/by_rails.c \
	%D%/by_rails.h \
	%D%/paths.c \
	%D%/paths.h \
	%D%/shape.c

EXTRA_DIST += %D%/README.md
