# GT_LIBXML2: topology files and their RELAX NG schema.
AC_DEFUN([GT_LIBXML2], [
PKG_CHECK_MODULES([LIBXML2], [libxml-2.0 >= 2.9])
])
