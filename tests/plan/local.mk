# gtopo verify: cases.sh runs tests/cases/plan/*.
cli_tests += %D%/cases.sh %D%/import.sh

EXTRA_DIST += %D%/cases.sh %D%/import.sh %D%/check_msccl.py \
	%D%/check_mscclpp.py %D%/check_nccl_graph.py %D%/validate.py
