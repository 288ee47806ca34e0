gtopo_core_sources += \
	%D%/channel.c \
	%D%/check.c \
	%D%/check.h \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/cluster_cut.c \
	%D%/cluster_flow.c \
	%D%/cluster_lengths.c \
	%D%/cluster_price.c \
	%D%/cluster_ring.c \
	%D%/cluster_route.c \
	%D%/cluster_tree.c \
	%D%/equal_shares.c \
	%D%/flow.c \
	%D%/held_karp.c \
	%D%/length.c \
	%D%/link_graph.c \
	%D%/link_graph.h \
	%D%/load.c \
	%D%/measured.c \
	%D%/parts.c \
	%D%/program.c \
	%D%/proof.c \
	%D%/ring.c \
	%D%/share.c \
	%D%/template.c \
	%D%/tree.c
