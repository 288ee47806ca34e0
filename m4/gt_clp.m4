# GT_CLP: the COIN-OR linear programming solver's C interface.
#
# Linked as archives, with what they need (LAPACK, gfortran's and the C++
# runtime), so that a binary carried to another machine does not miss a
# chain of libraries seldom installed there; shared where an archive lacks, or
# where a distribution wants that.
AC_DEFUN([GT_CLP], [
AC_ARG_WITH([clp],
  [AS_HELP_STRING([--with-clp=shared],
    [the solver's shared library (default: its archive, if there is one)])],
  [], [with_clp=auto])
PKG_CHECK_MODULES([CLP], [clp])
# Its headers are not ours to keep free of warnings.
CLP_CFLAGS=`echo "$CLP_CFLAGS" | $SED 's/-I/-isystem /g'`
gt_clp_parts="-lClp -lCoinUtils -llapack -lblas -lbz2 -lz"
gt_clp_static="-Wl,-Bstatic $gt_clp_parts"
gt_clp_static="$gt_clp_static -lgfortran -lquadmath -lstdc++ -Wl,-Bdynamic"
gt_clp_says="shared"
AC_SUBST([CLP_SHARED_LIBS], [$CLP_LIBS])
gt_save_LIBS=$LIBS
gt_save_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS $CLP_CFLAGS"
gt_clp_archive=no
AS_IF([test "x$with_clp" != xshared], [
  AC_MSG_CHECKING([for CLP as an archive])
  LIBS="$gt_clp_static -lm $gt_save_LIBS"
  AC_LINK_IFELSE([_GT_CLP_PROGRAM], [gt_clp_archive=yes])
  AC_MSG_RESULT([$gt_clp_archive])
])
AS_IF([test $gt_clp_archive = yes], [
  CLP_LIBS="$gt_clp_static -lm"
  gt_clp_says="static"
], [
  LIBS="$CLP_LIBS $gt_save_LIBS"
  AC_LINK_IFELSE([_GT_CLP_PROGRAM], [],
    [AC_MSG_ERROR([CLP does not link, see config.log (Debian: coinor-libclp-dev zlib1g-dev)])])
])
LIBS=$gt_save_LIBS
CPPFLAGS=$gt_save_CPPFLAGS
])

AC_DEFUN([_GT_CLP_PROGRAM], [AC_LANG_PROGRAM(
  [[#include <Clp_C_Interface.h>]],
  [[Clp_deleteModel(Clp_newModel());]])])
