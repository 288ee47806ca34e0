# GT_JANSSON: plans and reports.
AC_DEFUN([GT_JANSSON], [
PKG_CHECK_MODULES([JANSSON], [jansson >= 2.10])
])
