# from a topology and a request to a plan
gtopo_core_sources += \
	%D%/arborescence.c %D%/arborescence.h \
	%D%/arcs.c %D%/arcs.h \
	%D%/auto.c %D%/auto.h \
	%D%/bareiss.c %D%/bareiss.h \
	%D%/basis.c %D%/basis.h \
	%D%/bound.c %D%/bound.h \
	%D%/bound_parts.c %D%/bound_parts.h \
	%D%/cut.c %D%/cut.h \
	%D%/dive.c %D%/dive.h \
	%D%/emit.c %D%/emit.h %D%/emit_flow.c \
	%D%/emit_proof.c %D%/emit_proof.h \
	%D%/equal.c %D%/equal.h %D%/equal_prove.c %D%/equal_prove.h \
	%D%/fabric.h \
	%D%/forest.c %D%/forest.h \
	%D%/forest_exact.c %D%/forest_exact.h \
	%D%/forest_few.c %D%/forest_few.h %D%/forest_round.c %D%/forest_round.h \
	%D%/forest_prove.c %D%/forest_whole.c \
	%D%/hier.h %D%/hier_bound.c %D%/hier_emit.c %D%/hier_emit.h \
	%D%/hier_emit_pair.c %D%/hier_pair.c %D%/hier_pair.h \
	%D%/hier_emit_ring.c %D%/hier_emit_route.c %D%/hier_ring.c %D%/hier_ring.h \
	%D%/hier_emit_flow.c %D%/hier_flow.c %D%/hier_flow.h \
	%D%/hier_flow_few.c %D%/hier_flow_lanes.c %D%/hier_flow_lp.h \
	%D%/hier_flow_prove.c %D%/hier_flow_way.c \
	%D%/hier_graph.c %D%/hier_graph.h \
	%D%/hier_ports.c %D%/hier_ports.h \
	%D%/hier_price.c %D%/hier_request.c %D%/hier_request.h \
	%D%/hier_rows.c %D%/hier_trees.c %D%/hier_trees.h \
	%D%/lp.c %D%/lp.h \
	%D%/maxflow.c %D%/maxflow.h \
	%D%/merge.c %D%/merge.h \
	%D%/request.c %D%/request.h \
	%D%/ring_all.c %D%/ring_all.h \
	%D%/ring_exact.c %D%/ring_exact.h \
	%D%/ring_few.c %D%/ring_few.h \
	%D%/ring_greedy.c %D%/ring_greedy.h \
	%D%/ring_limit.c \
	%D%/ring_local.c %D%/ring_local.h \
	%D%/ring_lp.c %D%/ring_lp.h \
	%D%/ring_pool.c %D%/ring_pool.h \
	%D%/ring_doors.c %D%/ring_doors.h \
	%D%/ring_price.c %D%/ring_price.h \
	%D%/ring_rows.c %D%/ring_rows.h \
	%D%/ring_search.c %D%/ring_search.h \
	%D%/face.c %D%/face.h %D%/ring_sparse.c %D%/ring_sparse.h %D%/ring_swap.c %D%/ring_swap.h \
	%D%/ring_whole.c \
	%D%/search.c %D%/search.h \
	%D%/shape.h \
	%D%/shape_flow.c \
	%D%/shape_forest.c \
	%D%/shape_ring.c \
	%D%/shortest.c %D%/shortest.h \
	%D%/tree_grow.c %D%/tree_grow.h \
	%D%/trees.c %D%/trees.h \
	%D%/watch.c %D%/watch.h \
	%D%/ways.c %D%/ways.h %D%/ways_few.c \
	%D%/whole.c %D%/whole.h %D%/whole_route.c
