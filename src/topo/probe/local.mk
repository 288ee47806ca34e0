gtopo_core_sources += \
	%D%/dmi.c \
	%D%/dmi.h \
	%D%/gpu.c \
	%D%/host.c \
	%D%/hwloc.c \
	%D%/kfd.c \
	%D%/machine.c \
	%D%/machine.h \
	%D%/memory.c \
	%D%/net.c \
	%D%/nvlink.c \
	%D%/nvml.c \
	%D%/nvml.h \
	%D%/nvml_query.h \
	%D%/p2p.c \
	%D%/pci_ids.c \
	%D%/pci_ids.h \
	%D%/pcie.c \
	%D%/probe.c \
	%D%/probe.h \
	%D%/rdma.c \
	%D%/sysfs.c \
	%D%/sysfs.h \
	%D%/trim.c \
	%D%/verbs.c \
	%D%/visible_devices.c \
	%D%/visible_devices.h

EXTRA_DIST += %D%/README.md
