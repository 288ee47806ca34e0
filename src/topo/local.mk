# the machine: graph, routes, probes; reads and writes topology XML
gtopo_core_sources += \
	%D%/assign.c %D%/assign.h \
	%D%/check.c \
	%D%/cluster.c %D%/cluster.h \
	%D%/cluster_diff.c %D%/cluster_diff.h \
	%D%/cluster_even.c %D%/cluster_fabric.c %D%/cluster_kind.c %D%/cluster_make.h \
	%D%/cluster_json.c %D%/cluster_names.c %D%/cluster_read.c \
	%D%/cluster_path.c %D%/cluster_path.h %D%/cluster_print.c \
	%D%/diff.c %D%/diff.h %D%/diff_apply.c %D%/diff_apply.h \
	%D%/digest.c %D%/digest.h \
	%D%/dot.c %D%/dot.h %D%/dot_cluster.c \
	%D%/dot_fold.c %D%/dot_lane.c %D%/dot_link.c \
	%D%/dot_place.c %D%/dot_place.h %D%/drawing.h \
	%D%/edit.c %D%/edit.h \
	%D%/fuse.c %D%/fuse.h \
	%D%/graph.c %D%/graph.h \
	%D%/lint.c %D%/lint.def %D%/lint.h %D%/linter.h \
	%D%/lint_bytes.c %D%/lint_elem.c %D%/lint_facts.c %D%/lint_graph.c \
	%D%/machine.c %D%/machine.h %D%/machine_trim.c \
	%D%/match.c %D%/match.h %D%/match_same.c \
	%D%/measured.c %D%/measured.h %D%/measured_write.c \
	%D%/model.c %D%/model.h \
	%D%/nvml.c %D%/nvml.h %D%/nvml_walk.h \
	%D%/path.c %D%/path.h \
	%D%/pci.c %D%/pci.h \
	%D%/print.c %D%/print.h %D%/print_json.c \
	%D%/print_route.c \
	%D%/probe.c %D%/probe.h \
	%D%/probe_host.c \
	%D%/probe_hwloc.c \
	%D%/probe_kfd.c \
	%D%/probe_net.c \
	%D%/probe_nvlink.c %D%/probe_nvml.c %D%/probe_p2p.c \
	%D%/probe_pci.c \
	%D%/probe_rdma.c \
	%D%/probe_verbs.c \
	%D%/reader.h \
	%D%/show.c %D%/show.h %D%/show_across.c %D%/show_cluster.c \
	%D%/show_line.c %D%/show_line.h %D%/show_words.c \
	%D%/server.c %D%/server.h %D%/server_hash.c \
	%D%/server_props.c %D%/server_props.h \
	%D%/synth.c %D%/synth.h %D%/synth_read.c \
	%D%/sysfs.c %D%/sysfs.h \
	%D%/topo.c %D%/topo.h \
	%D%/visible.c %D%/visible.h \
	%D%/walk.c %D%/walk.h \
	%D%/xml_device.c %D%/xml_facts.c %D%/xml_link.c \
	%D%/xml_read.c %D%/xml_scan.c \
	%D%/xml_out.c %D%/xml_out.h \
	%D%/xml_write.c %D%/xml_write.h %D%/xml_write_dev.c
