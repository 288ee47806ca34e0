# gtopo verify: cases.sh runs tests/cases/plan/*.
cli_tests += %D%/cases.sh

EXTRA_DIST += %D%/cases.sh %D%/validate.py
EXTRA_DIST += tests/fuzz/fuzz_plan_json.c tests/fuzz/run.sh
