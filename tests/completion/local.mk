# Completion in shells: check.sh presses TAB.
cli_tests += %D%/check.sh
EXTRA_DIST += %D%/press.py
