# one program a module: tests/unit/test_<module>.c
