# Topologies as files: our own cases, and real ones where there are some.
check_PROGRAMS += %D%/compare_models
TESTS += %D%/compare_models
cli_tests += %D%/cases.sh %D%/real.sh %D%/rewrite.sh
