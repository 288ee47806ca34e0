# plans: model, JSON, lowering to programs, checks, simulation
gtopo_core_sources +=
