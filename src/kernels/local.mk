# device code; C sees kernels.h only
gtopo_core_sources += %D%/half.h %D%/pattern.h

EXTRA_DIST += %D%/interp.cu
MOSTLYCLEANFILES += $(wildcard %D%/*.o.d)

if HAVE_CUDA
gtopo_core_sources += \
	%D%/fill.cu \
	%D%/flag.cuh \
	%D%/kernels.h \
	%D%/module.c \
	%D%/move.cuh \
	%D%/ping.cu %D%/ping.h \
	%D%/reduce.cuh \
	%D%/schedule.cuh \
	%D%/type.cuh

# The interpreter, once per type of base/dtype.def.
gt_interps = \
	%D%/interp-INT8.o %D%/interp-UINT8.o \
	%D%/interp-INT32.o %D%/interp-UINT32.o \
	%D%/interp-INT64.o %D%/interp-UINT64.o \
	%D%/interp-HALF.o %D%/interp-BF16.o \
	%D%/interp-FLOAT.o %D%/interp-DOUBLE.o
libgtopo_core_a_LIBADD += $(gt_interps)
CLEANFILES += $(gt_interps)

$(gt_interps): %D%/interp-%.o: %D%/interp.cu
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) -DGT_TYPE=$* -MD -MF $@.d -MT $@ \
		-c -o $@ $<
endif
