# GT_CRYPTO: SHA-256 digests of machines and plans.
AC_DEFUN([GT_CRYPTO], [
PKG_CHECK_MODULES([CRYPTO], [libcrypto >= 1.1])
])
