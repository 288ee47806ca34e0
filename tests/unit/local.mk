# One program a module: tests/unit/test_<module>.c, named here without ".c".
unit_tests += \
	%D%/test_lower \
	%D%/test_opt

EXTRA_DIST += %D%/test.h

unit_tests += %D%/test_pattern
