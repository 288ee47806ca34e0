gtopo_core_sources += \
	%D%/bounds.h \
	%D%/channel.c \
	%D%/check.c \
	%D%/check.h \
	%D%/claims.c \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/cluster_cut.c \
	%D%/cluster_flow.c \
	%D%/cluster_lengths.c \
	%D%/cluster_load.c \
	%D%/cluster_load.h \
	%D%/cluster_order.c \
	%D%/cluster_prices.c \
	%D%/cluster_prices.h \
	%D%/cluster_ring.c \
	%D%/cluster_routes.c \
	%D%/cluster_routes.h \
	%D%/cluster_tree.c \
	%D%/demand.c \
	%D%/equal_shares.c \
	%D%/fault.c \
	%D%/fault.h \
	%D%/flow.c \
	%D%/held_karp.c \
	%D%/hop_costs.c \
	%D%/hop_costs.h \
	%D%/length.c \
	%D%/link_graph.c \
	%D%/link_graph.h \
	%D%/load.c \
	%D%/measured.c \
	%D%/part_paths.c \
	%D%/parts.c \
	%D%/program.c \
	%D%/proof.c \
	%D%/ring.c \
	%D%/share.c \
	%D%/stages.h \
	%D%/template.c \
	%D%/tree.c \
	%D%/use.c \
	%D%/use.h

EXTRA_DIST += %D%/README.md
