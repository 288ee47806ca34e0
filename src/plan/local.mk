# plans: model, JSON, lowering to programs, checks, simulation
gtopo_core_sources += \
	%D%/check_cluster.c %D%/check_cluster.h %D%/check_sum.c \
	%D%/check_node_ring.c %D%/check_node_price.c %D%/check_node_route.c \
	%D%/check_node_flow.c %D%/check_node_length.c %D%/check_node_tree.c \
	%D%/check_template.c \
	%D%/cluster.c %D%/cluster.h \
	%D%/lower_node_flow.c %D%/lower_template.c \
	%D%/print_cluster.c %D%/print_cluster.h %D%/read_cluster.c \
	%D%/uses.c %D%/uses.h \
	%D%/vertex.c %D%/vertex.h \
	%D%/check.c %D%/check.h %D%/check_channel.c %D%/check_flow.c \
	%D%/check_equal.c %D%/check_length.c %D%/check_load.c %D%/check_measured.c \
	%D%/check_parts.c %D%/check_program.c %D%/check_proof.c \
	%D%/check_ring.c \
	%D%/check_share.c %D%/check_tree.c \
	%D%/held_karp.c \
	%D%/cost.c %D%/cost.h %D%/cost_few.c %D%/cost_few.h \
	%D%/cost_least.c %D%/cost_net.c %D%/cost_net.h \
	%D%/cost_read.c %D%/cost_read.h \
	%D%/cost_route.c %D%/cost_run.c \
	%D%/export.h %D%/export_dot.c %D%/export_nccl.c \
	%D%/export_lower.c %D%/export_msccl.c %D%/export_msccl.h \
	%D%/export_mscclpp.c %D%/export_units.c \
	%D%/import.c %D%/import.h %D%/import_algo.c %D%/import_algo.h \
	%D%/import_links.c %D%/import_msccl.c \
	%D%/import_mscclpp.c %D%/import_mscclpp.h \
	%D%/import_mscclpp_match.c %D%/import_mscclpp_order.c \
	%D%/import_mscclpp_packet.c %D%/import_mscclpp_read.c \
	%D%/import_run.c %D%/import_run.h \
	%D%/layout.c %D%/layout.h \
	%D%/lower.c %D%/lower.h %D%/lower_flow.c %D%/lower_mesh.c \
	%D%/lower_ring.c %D%/lower_shape.h %D%/lower_tree.c \
	%D%/envelope.c %D%/envelope.h \
	%D%/measured.c %D%/measured.h \
	%D%/nvlink.c %D%/nvlink.h \
	%D%/op.def \
	%D%/plan.c %D%/plan.h \
	%D%/print.c %D%/print.h %D%/print_program.c %D%/print_select.c \
	%D%/read.c %D%/read.h %D%/read_channel.c %D%/read_measured.c \
	%D%/read_program.c \
	%D%/read_proof.c %D%/read_select.c \
	%D%/program.h \
	%D%/sim.h %D%/sim_check.c %D%/sim_init.c %D%/sim_layout.c \
	%D%/sim_race.c %D%/sim_run.c \
	%D%/simulate.c %D%/simulate.h \
	%D%/step.c %D%/step.h
