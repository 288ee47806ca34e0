# device code; C sees kernels.h only
MOSTLYCLEANFILES += $(wildcard %D%/*.o.d)

if HAVE_CUDA
gtopo_core_sources +=
endif
