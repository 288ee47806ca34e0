# device code; C sees kernels.h only
MOSTLYCLEANFILES += $(wildcard %D%/*.o.d)

gtopo_core_sources += %D%/half.h %D%/pattern.h

if HAVE_CUDA
gtopo_core_sources +=
endif
