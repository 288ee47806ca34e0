# the machine: graph, routes, probes; reads and writes topology XML
gtopo_core_sources += \
	%D%/machine.c %D%/machine.h %D%/machine_trim.c \
	%D%/nvml.c %D%/nvml.h \
	%D%/probe.c %D%/probe.h \
	%D%/probe_hwloc.c \
	%D%/probe_net.c \
	%D%/probe_nvml.c \
	%D%/probe_pci.c \
	%D%/probe_rdma.c \
	%D%/probe_verbs.c \
	%D%/sysfs.c %D%/sysfs.h \
	%D%/xml_write.c %D%/xml_write.h
