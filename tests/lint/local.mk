# gtopo lint on planted faults: cases.sh runs tests/cases/lint/*.
cli_tests += %D%/cases.sh
