# device code; C sees kernels.h only
gtopo_core_sources += %D%/exchange.h %D%/flow.h %D%/half.h %D%/pattern.h

EXTRA_DIST += %D%/interp.cu %D%/flow.cu %D%/report.sh
MOSTLYCLEANFILES += $(wildcard %D%/*.o.d)

if HAVE_CUDA
gtopo_core_sources += \
	%D%/any.cuh \
	%D%/block.cuh \
	%D%/cell.cuh \
	%D%/desk.cuh \
	%D%/detour.cu \
	%D%/direct.cuh \
	%D%/exchange.cu %D%/exchange.cuh \
	%D%/fill.cu \
	%D%/flag.cuh \
	%D%/fp8.cuh \
	%D%/group.cu %D%/group.cuh \
	%D%/kernels.h \
	%D%/launch.cuh \
	%D%/letter.cuh \
	%D%/lift.cuh \
	%D%/module.c \
	%D%/move.cuh \
	%D%/packet.cuh \
	%D%/piece.cuh \
	%D%/ping.cu %D%/ping.h \
	%D%/push.cuh \
	%D%/pushes.cuh \
	%D%/reduce.cuh \
	%D%/scale.cuh \
	%D%/schedule.cuh \
	%D%/single.cuh \
	%D%/slot.cuh \
	%D%/stage.cuh \
	%D%/trace.cu \
	%D%/type.cuh \
	%D%/wait.cuh

# The interpreter and the flows, once per type of base/dtype.def.
gt_interps = \
	%D%/interp-INT8.o %D%/interp-UINT8.o \
	%D%/interp-INT32.o %D%/interp-UINT32.o \
	%D%/interp-INT64.o %D%/interp-UINT64.o \
	%D%/interp-HALF.o %D%/interp-BF16.o \
	%D%/interp-FLOAT.o %D%/interp-DOUBLE.o \
	%D%/interp-FP8_E4M3.o %D%/interp-FP8_E5M2.o
gt_flows = \
	%D%/flow-INT8.o %D%/flow-UINT8.o \
	%D%/flow-INT32.o %D%/flow-UINT32.o \
	%D%/flow-INT64.o %D%/flow-UINT64.o \
	%D%/flow-HALF.o %D%/flow-BF16.o \
	%D%/flow-FLOAT.o %D%/flow-DOUBLE.o \
	%D%/flow-FP8_E4M3.o %D%/flow-FP8_E5M2.o
libgtopo_core_a_LIBADD += $(gt_interps) $(gt_flows)
CLEANFILES += $(gt_interps) $(gt_flows)

$(gt_interps): %D%/interp-%.o: %D%/interp.cu
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) -DGT_TYPE=$* -MD -MF $@.d -MT $@ \
		-c -o $@ $<

$(gt_flows): %D%/flow-%.o: %D%/flow.cu
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) -DGT_TYPE=$* -MD -MF $@.d -MT $@ \
		-c -o $@ $<

# What ptxas says of the kernels for float: registers, shared memory, spills.
kernel-report:
	$(AM_V_at)for name in interp flow group; do \
		$(NVCC_COMPILE) -DGT_TYPE=FLOAT -Xptxas -v -c \
			-o kernel-report.o \
			$(top_srcdir)/src/kernels/$$name.cu 2>&1; \
	done | c++filt | bash $(top_srcdir)/%D%/report.sh
	$(AM_V_at)rm -f kernel-report.o
endif
.PHONY: kernel-report
