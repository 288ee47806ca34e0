# What needs GPUs.  run.sh does everything and skips where there are none;
# HACKING.md says how to run it on a machine that has only the binaries.
if HAVE_CUDA
check_PROGRAMS += %D%/matrix
%C%_matrix_LDADD = $(gtopo_LDADD)
cli_tests += %D%/run.sh
endif
EXTRA_DIST += %D%/run.sh
