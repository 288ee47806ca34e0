# One program a module: tests/unit/test_<module>.c, named here without ".c".
unit_tests += \
	%D%/test_base \
	%D%/test_bundle \
	%D%/test_bound \
	%D%/test_chance \
	%D%/test_cluster \
	%D%/test_cost \
	%D%/test_desk \
	%D%/test_engine \
	%D%/test_fifo \
	%D%/test_flow \
	%D%/test_forest \
	%D%/test_fp8 \
	%D%/test_hier \
	%D%/test_hier_flow \
	%D%/test_hier_table \
	%D%/test_lib \
	%D%/test_link \
	%D%/test_lower \
	%D%/test_machine \
	%D%/test_measure \
	%D%/test_mutate \
	%D%/test_mutate_plan \
	%D%/test_opt \
	%D%/test_pair \
	%D%/test_plan \
	%D%/test_pass \
	%D%/test_path \
	%D%/test_pattern \
	%D%/test_premul \
	%D%/test_rat \
	%D%/test_reach \
	%D%/test_reduce \
	%D%/test_report \
	%D%/test_ring \
	%D%/test_ring_table \
	%D%/test_show \
	%D%/test_simulate \
	%D%/test_stream \
	%D%/test_tcp \
	%D%/test_topo \
	%D%/test_trace \
	%D%/test_tune \
	%D%/test_unit \
	%D%/test_whole \
	%D%/test_world

# RDMA devices are simulated.
tests_unit_test_link_SOURCES = %D%/test_link.c
if HAVE_VERBS
unit_tests += %D%/test_verbs
tests_unit_test_link_SOURCES += $(soft_verbs)
endif

# Copy engines are simulated, launches only looked at.
if HAVE_CUDA
unit_tests += %D%/test_ce %D%/test_detour %D%/test_detour_room %D%/test_room
tests_unit_test_ce_SOURCES = %D%/test_ce.c %D%/streams.c %D%/streams.h
tests_unit_test_detour_SOURCES = \
	%D%/test_detour.c %D%/streams.c %D%/streams.h
endif

EXTRA_DIST += %D%/bounds.h %D%/boxes.h %D%/cuts.h %D%/fabrics.h \
	%D%/good_plan.h %D%/hier_plan.h %D%/job.h %D%/ring_plan.h %D%/test.h

tests_unit_test_chance_SOURCES = \
	%D%/test_chance.c %D%/machine_run.c %D%/machine_run.h
tests_unit_test_mutate_SOURCES = \
	%D%/test_mutate.c %D%/oracle.c %D%/oracle.h
tests_unit_test_mutate_plan_SOURCES = \
	%D%/test_mutate_plan.c %D%/oracle.c %D%/oracle.h
