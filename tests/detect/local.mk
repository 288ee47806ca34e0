# gtopo detect on made-up machines: cases.sh runs tests/cases/detect/*.
cli_tests += %D%/cases.sh
check_PROGRAMS += %D%/nccl_reads

# A simulated NVML, a real shared library that gtopo loads with --nvml.
check_DATA += %D%/libnvidia-ml.so.1
%D%/libnvidia-ml.so.1: %D%/fake_nvml.c src/topo/probe/nvml.h
	$(AM_V_CC)$(MKDIR_P) %D% && $(CC) -std=c17 -D_GNU_SOURCE \
		-I$(top_srcdir)/src -O -fPIC -shared -o $@ \
		$(top_srcdir)/%D%/fake_nvml.c

MOSTLYCLEANFILES += %D%/libnvidia-ml.so.1
EXTRA_DIST += %D%/cases.sh %D%/mkroot.sh %D%/fake_nvml.c
