# the machine: graph, routes, probes; reads and writes topology XML
gtopo_core_sources +=
