# GT_SANITIZE: --enable-sanitize builds with AddressSanitizer and UBSan.
AC_DEFUN([GT_SANITIZE], [
AC_ARG_ENABLE([sanitize],
  [AS_HELP_STRING([--enable-sanitize],
    [build with AddressSanitizer and UndefinedBehaviorSanitizer])],
  [], [enable_sanitize=no])
GT_SANITIZE_CFLAGS=
AS_IF([test "x$enable_sanitize" = xyes], [
  GT_SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer"
  GT_SANITIZE_CFLAGS="$GT_SANITIZE_CFLAGS -fno-sanitize-recover=undefined"
])
AC_SUBST([GT_SANITIZE_CFLAGS])
AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" = xyes])
])
