# libnccl.so.2 as programs use it, with a simulated CUDA run-time: simcuda.h.
nccl_simulated = %D%/client.h %D%/simcuda.c %D%/simcuda.h
nccl_ldflags = $(AM_LDFLAGS) -rdynamic -Wl,-rpath,$(abs_top_builddir)
unit_tests += \
	%D%/test_ranks
tests_nccl_test_ranks_SOURCES = %D%/test_ranks.c $(nccl_simulated)
tests_nccl_test_ranks_LDADD = libnccl.so.2 $(CMOCKA_LIBS)
tests_nccl_test_ranks_LDFLAGS = $(nccl_ldflags)
