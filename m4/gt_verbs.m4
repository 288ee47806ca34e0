# GT_VERBS: RDMA ports; auto, yes or no.
AC_DEFUN([GT_VERBS], [
AC_ARG_WITH([verbs],
  [AS_HELP_STRING([--without-verbs], [build without libibverbs])],
  [], [with_verbs=auto])
gt_verbs=no
gt_verbs_says="no (--without-verbs)"
AS_IF([test "x$with_verbs" != xno], [
  PKG_CHECK_MODULES([VERBS], [libibverbs >= 1.12], [
    gt_verbs=yes
    gt_verbs_says="yes"
    AC_DEFINE([HAVE_VERBS], [1], [libibverbs is linked])
  ], [
    gt_verbs_says="no (libibverbs 1.12 not found)"
    AS_IF([test "x$with_verbs" = xyes],
      [AC_MSG_ERROR([libibverbs 1.12 not found (Debian: libibverbs-dev)])])
  ])
])
AM_CONDITIONAL([HAVE_VERBS], [test $gt_verbs = yes])
])
