gtopo_core_sources += \
	%D%/algorithm.c \
	%D%/algorithm.h \
	%D%/export.h \
	%D%/export_dot.c \
	%D%/export_msccl.c \
	%D%/export_msccl.h \
	%D%/export_msccl_lower.c \
	%D%/export_msccl_units.c \
	%D%/export_mscclpp.c \
	%D%/export_nccl.c \
	%D%/export_nccl_switch.c \
	%D%/export_nccl_switch.h \
	%D%/import.c \
	%D%/import.h \
	%D%/import_links.c \
	%D%/import_msccl.c \
	%D%/import_mscclpp.c \
	%D%/import_mscclpp.h \
	%D%/import_mscclpp_match.c \
	%D%/import_mscclpp_order.c \
	%D%/import_mscclpp_packet.c \
	%D%/import_mscclpp_read.c \
	%D%/import_replay.c \
	%D%/import_replay.h

EXTRA_DIST += %D%/README.md
