# plans to bytes moved: worlds, memories, links, the run loop
gtopo_core_sources +=
