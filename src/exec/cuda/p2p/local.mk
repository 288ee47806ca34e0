EXTRA_DIST += %D%/README.md

if HAVE_CUDA
gtopo_core_sources += \
	%D%/args.c \
	%D%/args.h \
	%D%/copy_engine.c \
	%D%/copy_engine.h \
	%D%/detour.c \
	%D%/detour.h \
	%D%/detour_buffers.c \
	%D%/detour_choice.c \
	%D%/detour_slots.h \
	%D%/launch.c \
	%D%/launch.h \
	%D%/memory.c \
	%D%/memory.h \
	%D%/premul.c \
	%D%/premul.h \
	%D%/scratch_reduce.c \
	%D%/scratch_reduce.h \
	%D%/scratch_reduce_group.c \
	%D%/scratch_reduce_group.h
endif
