# GT_CUDA: nvcc and the static CUDA runtime; auto, a directory, or no.
#
# libcuda and NVML are looked for at run time, so the program built here
# starts on a machine without a driver.
AC_DEFUN([GT_CUDA], [
AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda=DIR],
    [the CUDA toolkit (default: nvcc in PATH, else /usr/local/cuda)])],
  [], [with_cuda=auto])
AC_ARG_WITH([cuda-arch],
  [AS_HELP_STRING([--with-cuda-arch=FLAGS],
    [architectures as "90", "80 90" (default 90): machine code for each and
     PTX for the last])],
  [], [with_cuda_arch=90])
AC_ARG_VAR([NVCCFLAGS], [more flags for nvcc])

gt_cuda=no
gt_cuda_says="no (--without-cuda)"
AS_IF([test "x$with_cuda" != xno], [
  _GT_CUDA_FIND
  AS_IF([test "x$NVCC" != x], [_GT_CUDA_TRY],
    [gt_cuda_says="no (nvcc not found)"])
  AS_IF([test $gt_cuda = no && test "x$with_cuda" != xauto],
    [AC_MSG_ERROR([CUDA was asked for: $gt_cuda_says])])
])
AS_IF([test $gt_cuda = yes],
  [AC_DEFINE([HAVE_CUDA], [1], [CUDA kernels are built in])],
  [CUDA_CPPFLAGS= CUDA_LIBS=])
AC_SUBST([NVCC])
AC_SUBST([CUDA_ARCH])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
AM_CONDITIONAL([HAVE_CUDA], [test $gt_cuda = yes])
])

AC_DEFUN([_GT_CUDA_FIND], [
AS_CASE(["$with_cuda"],
  [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [],
    [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
  [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
])

# Where the toolkit lies is asked of nvcc itself: it may be a link or a wrapper.
AC_DEFUN([_GT_CUDA_TRY], [
gt_cuda_top=`$NVCC --dryrun -E -x cu /dev/null 2>&1 |
  $SED -n 's/^#\\$ TOP=//p'`
AS_IF([test "x$gt_cuda_top" = x],
  [gt_cuda_top=`dirname "$NVCC"`/..])
gt_cuda_top=`cd "$gt_cuda_top" && pwd -P`
gt_cuda_lib=$gt_cuda_top/lib64
AS_IF([test -d "$gt_cuda_lib"], [], [gt_cuda_lib=$gt_cuda_top/lib])
CUDA_CPPFLAGS="-isystem $gt_cuda_top/include"
CUDA_LIBS="-L$gt_cuda_lib -lcudart_static -lrt -ldl -lpthread"
CUDA_ARCH=
for gt_arch in $with_cuda_arch; do
  CUDA_ARCH="$CUDA_ARCH -gencode arch=compute_$gt_arch,code=sm_$gt_arch"
done
CUDA_ARCH="$CUDA_ARCH -gencode arch=compute_$gt_arch,code=compute_$gt_arch"

AC_MSG_CHECKING([whether $NVCC works])
cat >conftest.cu <<_GTEOF
__global__ void fill(int *p) { *p = 1; }
extern "C" int conftest_fill(int *p)
{
  fill<<<1, 1>>>(p);
  return (int)cudaGetLastError();
}
_GTEOF
gt_save_LIBS=$LIBS
AS_IF([$NVCC $NVCCFLAGS $CUDA_ARCH -c conftest.cu -o conftest_cu.o \
       >&AS_MESSAGE_LOG_FD 2>&1], [
  LIBS="conftest_cu.o $CUDA_LIBS $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern int conftest_fill(int *);]],
    [[return conftest_fill(0);]])], [gt_cuda=yes], [
    # Host code of some CUDA releases wants the C++ runtime.
    CUDA_LIBS="$CUDA_LIBS -lstdc++"
    LIBS="conftest_cu.o $CUDA_LIBS $gt_save_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern int conftest_fill(int *);]],
      [[return conftest_fill(0);]])], [gt_cuda=yes])
  ])
])
LIBS=$gt_save_LIBS
rm -f conftest.cu conftest_cu.o
AC_MSG_RESULT([$gt_cuda])
AS_IF([test $gt_cuda = yes],
  [gt_cuda_says="$NVCC, sm_`AS_ECHO(["$with_cuda_arch"]) | $SED 's/ /, sm_/g'`, static runtime"],
  [gt_cuda_says="no ($NVCC does not work, see config.log)"])
])
