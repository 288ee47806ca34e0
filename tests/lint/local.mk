# gtopo lint: cases.sh runs planted faults, tests/cases/lint/*, real.sh looks at
# real topologies.
cli_tests += %D%/cases.sh %D%/real.sh
