# device code; C sees kernels.h only
gtopo_core_sources += \
	%D%/guard.h \
	%D%/half.h \
	%D%/p2p.h \
	%D%/pattern.h \
	%D%/sendrecv.h

EXTRA_DIST += \
	%D%/README.md \
	%D%/device/README.md \
	%D%/interp/README.md \
	%D%/interp/interp.cu \
	%D%/p2p/README.md \
	%D%/p2p/p2p.cu \
	%D%/report.sh \
	%D%/sendrecv/README.md \
	%D%/tools/README.md
MOSTLYCLEANFILES += $(wildcard %D%/*/*.o.d)

if HAVE_CUDA
gtopo_core_sources += \
	%D%/kernels.h \
	%D%/module.c \
	%D%/ping.h \
	%D%/table.h

include src/kernels/device/local.mk
include src/kernels/interp/local.mk
include src/kernels/p2p/local.mk
include src/kernels/sendrecv/local.mk
include src/kernels/tools/local.mk

# The interpreter and the flows, once per type of base/dtype.def.
gt_types = INT8 UINT8 INT32 UINT32 INT64 UINT64 HALF BF16 FLOAT DOUBLE \
	FP8_E4M3 FP8_E5M2
gt_interps = $(addsuffix .o,$(addprefix %D%/interp/interp-,$(gt_types)))
gt_p2ps = $(addsuffix .o,$(addprefix %D%/p2p/p2p-,$(gt_types)))
libgtopo_core_a_LIBADD += $(gt_interps) $(gt_p2ps)
CLEANFILES += $(gt_interps) $(gt_p2ps)

$(gt_interps): %D%/interp/interp-%.o: %D%/interp/interp.cu
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) -DGT_TYPE=$* -MD -MP -MF $@.d -MT $@ \
		-c -o $@ $<

$(gt_p2ps): %D%/p2p/p2p-%.o: %D%/p2p/p2p.cu
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) -DGT_TYPE=$* -MD -MP -MF $@.d -MT $@ \
		-c -o $@ $<

# What ptxas says of the kernels for float: registers, shared memory, spills.
kernel-report:
	$(AM_V_at)for name in interp/interp p2p/p2p p2p/group p2p/barrier \
			sendrecv/sendrecv; do \
		$(NVCC_COMPILE) -DGT_TYPE=FLOAT -Xptxas -v -c \
			-o kernel-report.o \
			$(top_srcdir)/src/kernels/$$name.cu 2>&1; \
	done | c++filt | bash $(top_srcdir)/%D%/report.sh
	$(AM_V_at)rm -f kernel-report.o
endif
.PHONY: kernel-report
