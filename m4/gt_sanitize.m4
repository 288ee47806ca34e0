# GT_SANITIZE: --enable-sanitize builds with AddressSanitizer and UBSan,
# --enable-sanitize=thread (or another list) with what it names.
AC_DEFUN([GT_SANITIZE], [
AC_ARG_ENABLE([sanitize],
  [AS_HELP_STRING([--enable-sanitize@<:@=LIST@:>@],
    [build with sanitizers (default when given: address,undefined)])],
  [], [enable_sanitize=no])
AS_CASE(["$enable_sanitize"],
  [no], [GT_SANITIZE_CFLAGS=],
  [yes], [GT_SANITIZE_CFLAGS="-fsanitize=address,undefined"],
  [GT_SANITIZE_CFLAGS="-fsanitize=$enable_sanitize"])
AS_IF([test "x$GT_SANITIZE_CFLAGS" != x], [
  GT_SANITIZE_CFLAGS="$GT_SANITIZE_CFLAGS -fno-omit-frame-pointer"
  GT_SANITIZE_CFLAGS="$GT_SANITIZE_CFLAGS -fno-sanitize-recover=all"
])
AC_SUBST([GT_SANITIZE_CFLAGS])
])
