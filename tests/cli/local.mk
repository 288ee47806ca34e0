# Command line tests, by area: 0 basics, 1 detect, 2 topology, 3 search,
# 4 plan, 5 run, 9 documents.
cli_tests += \
	%D%/00-basics.bats \
	%D%/01-system.bats \
	%D%/10-detect.bats \
	%D%/20-paths.bats \
	%D%/21-show.bats \
	%D%/22-diff.bats \
	%D%/23-lint.bats \
	%D%/24-health.bats \
	%D%/25-cluster.bats \
	%D%/26-synth.bats \
	%D%/27-fuse.bats \
	%D%/28-nccl.bats \
	%D%/28-page.bats \
	%D%/29-fleet.bats \
	%D%/30-search.bats \
	%D%/31-explain.bats \
	%D%/32-auto.bats \
	%D%/33-forest.bats \
	%D%/34-uneven.bats \
	%D%/35-flow.bats \
	%D%/36-units.bats \
	%D%/37-pick.bats \
	%D%/38-demand.bats \
	%D%/39-job.bats \
	%D%/39-staged.bats \
	%D%/40-verify.bats \
	%D%/41-predict.bats \
	%D%/42-export.bats \
	%D%/43-msccl.bats \
	%D%/44-compare.bats \
	%D%/44-nccl-tuner.bats \
	%D%/45-steps.bats \
	%D%/46-multicast.bats \
	%D%/50-run.bats \
	%D%/51-tune.bats \
	%D%/55-processes.bats \
	%D%/56-rdma.bats \
	%D%/57-faults.bats \
	%D%/57-going.bats \
	%D%/58-hosts.bats \
	%D%/59-exec.bats

# It lets allocations fail: 01-system.bats.
check_DATA += %D%/libfailing_malloc.so
%D%/libfailing_malloc.so: %D%/failing_malloc.c
	$(AM_V_CC)$(MKDIR_P) %D% && $(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC \
		-fno-builtin -shared -o $@ $(top_srcdir)/%D%/failing_malloc.c -ldl

%D%/libfailing_calls.so: %D%/failing_calls.c
	$(AM_V_CC)$(MKDIR_P) %D% && $(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC \
		-fno-builtin -shared -o $@ $(top_srcdir)/%D%/failing_calls.c -ldl

MOSTLYCLEANFILES += %D%/libfailing_malloc.so %D%/libfailing_calls.so
EXTRA_DIST += %D%/failing_malloc.c %D%/failing_calls.c
EXTRA_DIST += $(cli_tests) %D%/job_loads.py \
	%D%/job_placements.py %D%/shut.py %D%/staged_faults.py \
	%D%/staged_loads.py %D%/switch_exits.py %D%/leaks.supp %D%/common.bash \
	%D%/processes.bash %D%/run-bats.sh
