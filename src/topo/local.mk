# the machine: graph, routes, probes; reads and writes topology XML

include src/topo/cluster/local.mk
include src/topo/diff/local.mk
include src/topo/graph/local.mk
include src/topo/interop/local.mk
include src/topo/lint/local.mk
include src/topo/nccl/local.mk
include src/topo/probe/local.mk
include src/topo/synth/local.mk
include src/topo/view/local.mk
include src/topo/xml/local.mk

EXTRA_DIST += %D%/README.md
