# What needs GPUs.  run.sh does everything and skips where there are none;
# HACKING.md says how to run it on a machine that has only the binaries.
check_PROGRAMS += %D%/xid
%C%_xid_LDADD = -ldl
cli_tests += %D%/faults_cases.sh %D%/xid_cases.sh

# What stands for CUDA's driver and for NCCL where neither is: faults_cases.sh.
check_DATA += %D%/libmute_nccl.so %D%/libsimdriver.so
simulated_library = $(AM_V_CC)$(MKDIR_P) %D% && $(CC) -std=c17 -D_GNU_SOURCE \
	-I$(top_srcdir)/src -I$(top_srcdir)/tests -O2 -g -fPIC -shared \
	-pthread -o $@
%D%/libmute_nccl.so: %D%/mute_nccl.c
	$(simulated_library) $(top_srcdir)/%D%/mute_nccl.c -ldl
%D%/libsimdriver.so: %D%/simdriver.c tests/nccl/simcuda.c tests/nccl/simcuda.h
	$(simulated_library) $(top_srcdir)/%D%/simdriver.c \
		$(top_srcdir)/tests/nccl/simcuda.c
MOSTLYCLEANFILES += %D%/libmute_nccl.so %D%/libsimdriver.so

if HAVE_CUDA
check_PROGRAMS += %D%/face %D%/library %D%/matrix
%C%_library_SOURCES = %D%/library.c %D%/library.h %D%/library_fault.c \
	%D%/library_fp8.c %D%/library_graph.c %D%/library_groups.c \
	%D%/library_ops.c %D%/library_pair.c %D%/library_pieces.c \
	%D%/library_race.c %D%/library_register.c \
	%D%/library_apart.c \
	%D%/spin.cu bench/nccl.c bench/nccl.h bench/graph.c bench/graph.h
%C%_library_LDADD = $(gtopo_LDADD)
%C%_face_LDADD = libnccl.so.2 $(CUDA_LIBS)
%C%_face_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)
%C%_matrix_SOURCES = %D%/matrix.c %D%/matrix.h %D%/matrix_bits.c
%C%_matrix_LDADD = $(gtopo_LDADD)
# gtopo itself, on a simulated run-time of CUDA, which comes before the real one.
check_PROGRAMS += %D%/simcuda
%C%_simcuda_SOURCES = src/main.c %D%/simcudart.c %D%/simcudart.h
%C%_simcuda_LDADD = $(gtopo_LDADD)
cli_tests += %D%/apart_cases.sh %D%/machine_cases.sh %D%/nth_cases.sh %D%/run.sh

gpu_programs = %D%/face %D%/library %D%/matrix %D%/xid \
	tests/verbs/libsoftverbs.so
endif

# What a GPU machine needs, as an archive; machine.sh in it says the rest.
gpu-bundle: all
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) $(gpu_programs)
	$(AM_V_at)bash $(top_srcdir)/%D%/bundle.sh . $(top_srcdir)
.PHONY: gpu-bundle

EXTRA_DIST += %D%/run.sh %D%/apart.sh %D%/apart_cases.sh %D%/blocks.sh %D%/bundle.sh %D%/clients.py \
	%D%/clients.sh %D%/demand.sh \
	%D%/face_torch.py %D%/fault_rank.py %D%/faults.py %D%/faults.sh \
	%D%/faults_cases.sh %D%/frame.sh \
	%D%/library.sh %D%/machine.sh %D%/machine_cases.sh \
	%D%/mute_nccl.c %D%/nth_cases.sh %D%/process.sh %D%/processes.sh %D%/race.sh %D%/shared.sh \
	%D%/simdriver.c %D%/staged.sh %D%/verbs.sh %D%/xid.sh %D%/xid_cases.sh
