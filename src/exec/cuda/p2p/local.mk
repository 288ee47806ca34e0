EXTRA_DIST += %D%/README.md

if HAVE_CUDA
gtopo_core_sources += \
	%D%/args.c \
	%D%/captures.c \
	%D%/captures.h \
	%D%/copy_engine.c \
	%D%/copy_engine.h \
	%D%/copy_engine_lanes.c \
	%D%/copy_engine_needs.c \
	%D%/detour.c \
	%D%/detour.h \
	%D%/detour_buffers.c \
	%D%/detour_choice.c \
	%D%/detour_slots.h \
	%D%/launch.c \
	%D%/memory.c \
	%D%/p2p.h \
	%D%/scratch_reduce.c \
	%D%/scratch_reduce_group.c
endif
