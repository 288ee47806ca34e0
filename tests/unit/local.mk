# One program a module, in a folder as the module's in src: test_<module>.c,
# named here without ".c".
unit_tests += \
	%D%/base/test_base \
	%D%/base/test_pairs \
	%D%/base/test_rat \
	%D%/base/test_unit \
	%D%/cli/detect/test_ranks \
	%D%/cli/health/test_reach \
	%D%/cli/test_opt \
	%D%/cli/tune/test_tune \
	%D%/exec/cuda/test_bundle \
	%D%/exec/host/test_reduce \
	%D%/exec/host/test_watch \
	%D%/exec/link/tcp/test_tcp \
	%D%/exec/link/test_fd_passing \
	%D%/exec/link/test_fifo \
	%D%/exec/link/test_link \
	%D%/exec/link/test_process_group \
	%D%/exec/link/test_proxied_link \
	%D%/exec/test_bits \
	%D%/exec/test_engine \
	%D%/exec/test_leaks \
	%D%/exec/test_peer_access \
	%D%/exec/trace/test_trace \
	%D%/kernels/test_fp8 \
	%D%/kernels/test_messages \
	%D%/kernels/test_pattern \
	%D%/lib/test_alltoallv \
	%D%/lib/test_beside \
	%D%/lib/test_bits \
	%D%/lib/test_launch \
	%D%/lib/test_lib \
	%D%/lib/test_memory \
	%D%/lib/test_pair \
	%D%/lib/test_premul \
	%D%/lib/test_relays \
	%D%/lib/test_remote \
	%D%/lib/test_shrink \
	%D%/lib/test_shrink_behind \
	%D%/lib/test_stream \
	%D%/measure/test_measure \
	%D%/measure/test_memory \
	%D%/nccl/test_config \
	%D%/nccl/test_team \
	%D%/nccl/test_uid \
	%D%/plan/check/test_check \
	%D%/plan/check/test_mutate_plan \
	%D%/plan/cost/test_cost \
	%D%/plan/ir/test_plan \
	%D%/plan/ir/test_survivors \
	%D%/plan/lower/test_lower \
	%D%/plan/simulate/test_mutate \
	%D%/plan/simulate/test_simulate \
	%D%/report/test_report \
	%D%/search/bound/test_bound \
	%D%/search/cluster/test_alltoall \
	%D%/search/cluster/test_cluster_search \
	%D%/search/cluster/test_cluster_table \
	%D%/search/flow/test_flow \
	%D%/search/flow/test_skew \
	%D%/search/job/test_bound \
	%D%/search/multicast/test_multicast \
	%D%/search/pick/test_pick \
	%D%/search/pick/test_several \
	%D%/search/problem/test_flat_cluster \
	%D%/search/rails/test_meshed \
	%D%/search/rails/test_rails \
	%D%/search/ring/test_relays \
	%D%/search/ring/test_ring \
	%D%/search/ring/test_ring_table \
	%D%/search/test_progress \
	%D%/search/test_random_machines \
	%D%/search/uneven/test_nearest \
	%D%/search/uneven/test_uneven \
	%D%/search/tree/test_tree \
	%D%/topo/cluster/test_cluster \
	%D%/topo/graph/test_name \
	%D%/topo/graph/test_part \
	%D%/topo/graph/test_path \
	%D%/topo/graph/test_topo \
	%D%/topo/nccl/test_choose \
	%D%/topo/probe/test_dmi \
	%D%/topo/probe/test_machine \
	%D%/topo/view/test_show \
	%D%/world/test_auth \
	%D%/world/test_children \
	%D%/world/test_failure \
	%D%/world/test_impostor \
	%D%/world/test_net \
	%D%/world/test_regroup \
	%D%/world/test_world

# RDMA devices are simulated.
tests_unit_exec_link_test_link_SOURCES = %D%/exec/link/test_link.c
if HAVE_VERBS
unit_tests += %D%/exec/link/verbs/test_verbs %D%/nccl/test_verbs_on_demand
tests_unit_exec_link_test_link_SOURCES += $(soft_verbs)
endif

# Copy engines are simulated, launches only looked at.
if HAVE_CUDA
unit_tests += \
	%D%/exec/cuda/device/test_closing_turn \
	%D%/exec/cuda/device/test_devices \
	%D%/exec/cuda/device/test_host_memory \
	%D%/exec/cuda/device/test_peers \
	%D%/exec/cuda/device/test_regions \
	%D%/exec/cuda/p2p/test_copy_engine \
	%D%/exec/cuda/p2p/test_detour \
	%D%/exec/cuda/p2p/test_detour_buffers \
	%D%/exec/cuda/p2p/test_lanes \
	%D%/exec/cuda/p2p/test_packet_parts \
	%D%/exec/cuda/p2p/test_staged \
	%D%/exec/cuda/p2p/test_staged_lanes \
	%D%/exec/cuda/test_demand \
	%D%/exec/cuda/test_early_launch \
	%D%/exec/cuda/test_invariant \
	%D%/exec/cuda/test_ledger \
	%D%/exec/cuda/test_max_blocks \
	%D%/exec/cuda/test_mesh \
	%D%/exec/cuda/test_pieces \
	%D%/exec/cuda/test_places \
	%D%/exec/cuda/test_region_budget \
	%D%/exec/cuda/test_registration \
	%D%/exec/cuda/test_sendrecv \
	%D%/exec/cuda/test_staged_choice
tests_unit_exec_cuda_test_demand_SOURCES = \
	%D%/exec/cuda/test_demand.c %D%/exec/cuda/interp_world.h
tests_unit_exec_cuda_test_mesh_SOURCES = \
	%D%/exec/cuda/test_mesh.c %D%/exec/cuda/interp_world.h
tests_unit_exec_cuda_p2p_test_copy_engine_SOURCES = \
	%D%/exec/cuda/p2p/test_copy_engine.c \
	%D%/exec/cuda/p2p/streams.c %D%/exec/cuda/p2p/streams.h
tests_unit_exec_cuda_p2p_test_detour_SOURCES = \
	%D%/exec/cuda/p2p/test_detour.c \
	%D%/exec/cuda/p2p/detour_world.h \
	%D%/exec/cuda/p2p/values.h \
	%D%/exec/cuda/p2p/streams.c %D%/exec/cuda/p2p/streams.h
tests_unit_exec_cuda_p2p_test_lanes_SOURCES = \
	%D%/exec/cuda/p2p/test_lanes.c \
	%D%/exec/cuda/p2p/values.h \
	%D%/exec/cuda/p2p/streams.c %D%/exec/cuda/p2p/streams.h
tests_unit_exec_cuda_p2p_test_staged_lanes_SOURCES = \
	%D%/exec/cuda/p2p/test_staged_lanes.c \
	%D%/exec/cuda/p2p/streams.c %D%/exec/cuda/p2p/streams.h
tests_unit_exec_cuda_p2p_test_staged_SOURCES = \
	%D%/exec/cuda/p2p/test_staged.c \
	%D%/exec/cuda/p2p/detour_world.h \
	%D%/exec/cuda/p2p/values.h \
	%D%/exec/cuda/p2p/streams.c %D%/exec/cuda/p2p/streams.h
endif

EXTRA_DIST += \
	%D%/good_plan.h \
	%D%/held.h \
	%D%/job.h \
	%D%/lib/deaf.h \
	%D%/lib/matrix.h \
	%D%/lib/shrink.h \
	%D%/port.h \
	%D%/ring_plan.h \
	%D%/search/cluster/cluster_plan.h \
	%D%/search/cluster/small_cluster.h \
	%D%/search/every_cut.h \
	%D%/search/experts.h \
	%D%/search/fabrics.h \
	%D%/search/known_bounds.h \
	%D%/search/least_cut.h \
	%D%/test.h

tests_unit_search_test_random_machines_SOURCES = \
	%D%/search/test_random_machines.c \
	%D%/search/machine_run.c %D%/search/machine_run.h
tests_unit_plan_simulate_test_mutate_SOURCES = \
	%D%/plan/simulate/test_mutate.c %D%/oracle.c %D%/oracle.h
tests_unit_plan_check_test_mutate_plan_SOURCES = \
	%D%/plan/check/test_mutate_plan.c %D%/oracle.c %D%/oracle.h
