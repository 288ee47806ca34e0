gtopo_core_sources += \
	%D%/dot.c \
	%D%/dot.h \
	%D%/dot_cluster.c \
	%D%/dot_findings.c \
	%D%/dot_kind.c \
	%D%/dot_kind.h \
	%D%/dot_layout.c \
	%D%/dot_layout.h \
	%D%/dot_link.c \
	%D%/dot_overlay.c \
	%D%/drawing.c \
	%D%/drawing.h \
	%D%/peer_access.c \
	%D%/peer_access.h \
	%D%/print.c \
	%D%/print.h \
	%D%/print_cluster.c \
	%D%/print_cluster_json.c \
	%D%/print_json.c \
	%D%/print_route.c \
	%D%/print_summary.c \
	%D%/show.c \
	%D%/show.h \
	%D%/show_cluster.c \
	%D%/show_interconnect.c \
	%D%/show_line.c \
	%D%/show_line.h \
	%D%/show_lint.c \
	%D%/show_lint.h \
	%D%/show_text.c \
	%D%/show_text.h

EXTRA_DIST += %D%/README.md
