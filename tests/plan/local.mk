# gtopo verify: cases.sh runs tests/cases/plan/*.
cli_tests += %D%/cases.sh %D%/import.sh %D%/rows.sh

EXTRA_DIST += %D%/cases.sh %D%/import.sh %D%/rows.sh %D%/rows.py %D%/check_msccl.py \
	%D%/check_mscclpp.py %D%/check_nccl_graph.py %D%/validate.py
