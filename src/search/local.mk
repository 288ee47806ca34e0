# from a topology and a request to a plan
gtopo_core_sources +=
