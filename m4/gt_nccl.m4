# GT_NCCL: what libnccl.so.2 has besides libc, in itself where there are static
# libraries that can be part of a shared one, since programs that load it may
# come with others of their own.  Those that are made for programs can, with
# variables of libc wrapped (src/nccl/standard_files.c).
AC_DEFUN([GT_NCCL], [
gt_nccl_inside=
gt_nccl_beside=
NCCL_DEPENDENCIES=
NCCL_WRAPS="-Wl,--wrap=stdin,--wrap=stdout,--wrap=stderr"
_GT_NCCL_LIBRARY([jansson], [JANSSON_LIBS], [jansson.h],
  [json_loads("1", 0, 0)])
_GT_NCCL_LIBRARY([crypto], [CRYPTO_LIBS], [openssl/hmac.h],
  [HMAC(EVP_sha256(), 0, 0, 0, 0, 0, 0)])
gt_nccl_says="inside:${gt_nccl_inside:- nothing}; beside it:${gt_nccl_beside:- nothing}"
AC_SUBST([NCCL_DEPENDENCIES])
AC_SUBST([NCCL_WRAPS])
])

# _GT_NCCL_LIBRARY(NAME, LIBS, HEADER, CALL)
AC_DEFUN([_GT_NCCL_LIBRARY], [
gt_nccl_libs=$LIBS
gt_nccl_cflags=$CFLAGS
CFLAGS="$CFLAGS -fPIC -shared"
LIBS="$NCCL_WRAPS -Wl,-Bsymbolic -Wl,-z,defs -l:lib$1.a -ldl -lpthread $LIBS"
AC_MSG_CHECKING([whether lib$1.a can be part of a shared library])
AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <stdio.h>
#include <$3>
#define GT_HIDDEN __attribute__((visibility("hidden")))
GT_HIDDEN FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;
const void *gt_call(void) { return $4; }
]])], [
  NCCL_DEPENDENCIES="$NCCL_DEPENDENCIES -l:lib$1.a"
  gt_nccl_inside="$gt_nccl_inside $1"
  AC_MSG_RESULT([yes])
], [
  NCCL_DEPENDENCIES="$NCCL_DEPENDENCIES \$($2)"
  gt_nccl_beside="$gt_nccl_beside $1"
  AC_MSG_RESULT([no])
])
LIBS=$gt_nccl_libs
CFLAGS=$gt_nccl_cflags
])
