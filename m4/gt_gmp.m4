# GT_GMP: exact rationals where 64 bits do not hold them.
AC_DEFUN([GT_GMP], [
PKG_CHECK_MODULES([GMP], [gmp])
])
