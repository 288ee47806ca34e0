# GT_PMIX: the launcher's service; auto, yes or no.  The library is loaded
# when a launcher that has it started the program.
AC_DEFUN([GT_PMIX], [
AC_ARG_WITH([pmix],
  [AS_HELP_STRING([--without-pmix], [build without PMIx])],
  [], [with_pmix=auto])
gt_pmix_says="no (--without-pmix)"
AS_IF([test "x$with_pmix" != xno], [
  PKG_CHECK_MODULES([PMIX], [pmix >= 3.0], [
    gt_pmix_says="yes"
    AC_DEFINE([HAVE_PMIX], [1], [libpmix can be loaded])
  ], [
    gt_pmix_says="no (pmix not found)"
    AS_IF([test "x$with_pmix" = xyes],
      [AC_MSG_ERROR([pmix not found (Debian: libpmix-dev)])])
  ])
])
])
