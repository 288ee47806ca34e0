# GT_TESTS: what `make check` uses; what is missing is said and skipped.
AC_DEFUN([GT_TESTS], [
PKG_CHECK_MODULES([CMOCKA], [cmocka >= 1.1],
  [gt_cmocka=yes gt_cmocka_says="yes"],
  [gt_cmocka=no gt_cmocka_says="no (cmocka not found)"])
AM_CONDITIONAL([HAVE_CMOCKA], [test $gt_cmocka = yes])
AC_CHECK_PROG([BATS], [bats], [bats])
AS_IF([test "x$BATS" = x],
  [gt_bats_says="no (bats not found)"], [gt_bats_says="yes"])
])
