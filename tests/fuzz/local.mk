# Fuzz targets are built on demand; tests/fuzz/fuzz.sh builds and runs them.
EXTRA_PROGRAMS += \
	%D%/fuzz_cluster %D%/fuzz_import %D%/fuzz_nccl %D%/fuzz_plan_json \
	%D%/fuzz_synth %D%/fuzz_topo_xml
%C%_fuzz_cluster_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_import_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_nccl_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_synth_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_plan_json_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_topo_xml_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

# Whole commands on files that are nearly right.
cli_tests += %D%/commands.sh
EXTRA_DIST += %D%/commands.py

EXTRA_DIST += %D%/fuzz.sh %D%/round_trip.h %D%/cluster.dict \
	%D%/cluster.seed %D%/synth.dict %D%/topo_xml.dict
CLEANFILES += %D%/fuzz_cluster %D%/fuzz_import %D%/fuzz_nccl \
	%D%/fuzz_plan_json %D%/fuzz_synth %D%/fuzz_topo_xml
