# results of runs, as text and JSON
gtopo_core_sources +=
