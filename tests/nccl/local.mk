# libnccl.so.2 as programs use it, with a simulated CUDA run-time: simcuda.h.
nccl_simulated = %D%/client.h %D%/simcuda.c %D%/simcuda.h
nccl_ldflags = $(AM_LDFLAGS) -rdynamic -Wl,-rpath,$(abs_top_builddir)
nccl_ldadd = libnccl.so.2 $(CMOCKA_LIBS)
unit_tests += \
	%D%/test_asked \
	%D%/test_clients \
	%D%/test_failing \
	%D%/test_faults \
	%D%/test_groups \
	%D%/test_grow \
	%D%/test_interleave \
	%D%/test_killed \
	%D%/test_operations \
	%D%/test_plan \
	%D%/test_processes \
	%D%/test_ranks \
	%D%/test_rules \
	%D%/test_shrink \
	%D%/test_shrink_behind \
	%D%/test_split
%C%_test_asked_SOURCES = %D%/test_asked.c $(nccl_simulated)
%C%_test_asked_LDADD = $(nccl_ldadd)
%C%_test_asked_LDFLAGS = $(nccl_ldflags)
%C%_test_clients_SOURCES = %D%/test_clients.c $(nccl_simulated)
%C%_test_clients_LDADD = $(nccl_ldadd)
%C%_test_clients_LDFLAGS = $(nccl_ldflags)
%C%_test_failing_SOURCES = %D%/test_failing.c $(nccl_simulated)
%C%_test_failing_LDADD = $(nccl_ldadd) libgtopo.so
%C%_test_failing_LDFLAGS = $(nccl_ldflags)
%C%_test_failing_DEPENDENCIES = libnccl.so.2 libgtopo.so \
	tests/cli/libfailing_calls.so
%C%_test_faults_SOURCES = %D%/test_faults.c $(nccl_simulated)
%C%_test_faults_LDADD = $(nccl_ldadd)
%C%_test_faults_LDFLAGS = $(nccl_ldflags)
%C%_test_groups_SOURCES = %D%/test_groups.c $(nccl_simulated)
%C%_test_groups_LDADD = $(nccl_ldadd)
%C%_test_groups_LDFLAGS = $(nccl_ldflags)
%C%_test_grow_SOURCES = %D%/test_grow.c $(nccl_simulated)
%C%_test_grow_LDADD = $(nccl_ldadd)
%C%_test_grow_LDFLAGS = $(nccl_ldflags)
%C%_test_interleave_SOURCES = %D%/test_interleave.c $(nccl_simulated)
%C%_test_interleave_LDADD = $(nccl_ldadd)
%C%_test_interleave_LDFLAGS = $(nccl_ldflags)
%C%_test_killed_SOURCES = %D%/test_killed.c %D%/processes.h $(nccl_simulated)
%C%_test_killed_LDADD = $(nccl_ldadd)
%C%_test_killed_LDFLAGS = $(nccl_ldflags)
%C%_test_operations_SOURCES = %D%/test_operations.c $(nccl_simulated)
%C%_test_operations_LDADD = $(nccl_ldadd)
%C%_test_operations_LDFLAGS = $(nccl_ldflags)
%C%_test_plan_SOURCES = %D%/test_plan.c $(nccl_simulated)
%C%_test_plan_LDADD = $(nccl_ldadd)
%C%_test_plan_LDFLAGS = $(nccl_ldflags)
%C%_test_processes_SOURCES = %D%/test_processes.c %D%/processes.h \
	$(nccl_simulated)
%C%_test_processes_LDADD = $(nccl_ldadd)
%C%_test_processes_LDFLAGS = $(nccl_ldflags)
%C%_test_ranks_SOURCES = %D%/test_ranks.c $(nccl_simulated)
%C%_test_ranks_LDADD = $(nccl_ldadd)
%C%_test_ranks_LDFLAGS = $(nccl_ldflags)
%C%_test_rules_SOURCES = %D%/test_rules.c $(nccl_simulated)
%C%_test_rules_LDADD = $(nccl_ldadd)
%C%_test_rules_LDFLAGS = $(nccl_ldflags)
%C%_test_shrink_SOURCES = %D%/test_shrink.c $(nccl_simulated)
%C%_test_shrink_LDADD = $(nccl_ldadd)
%C%_test_shrink_LDFLAGS = $(nccl_ldflags)
%C%_test_shrink_behind_SOURCES = %D%/test_shrink_behind.c $(nccl_simulated)
%C%_test_shrink_behind_LDADD = $(nccl_ldadd)
%C%_test_shrink_behind_LDFLAGS = $(nccl_ldflags)
%C%_test_split_SOURCES = %D%/test_split.c $(nccl_simulated)
%C%_test_split_LDADD = $(nccl_ldadd)
%C%_test_split_LDFLAGS = $(nccl_ldflags)

# The engine on GPUs that are simulated: a run-time before the real one.
if HAVE_CUDA
unit_tests += %D%/test_captured
%C%_test_captured_SOURCES = %D%/test_captured.c tests/gpu/simcudart.c \
	tests/gpu/simcudart.h
%C%_test_captured_LDADD = $(gtopo_LDADD) $(CMOCKA_LIBS)
else
EXTRA_DIST += %D%/test_captured.c
endif

gates += %D%/abi.sh %D%/rules.sh
EXTRA_DIST += %D%/clients %D%/rules %D%/symbols
