# GT_COMPILER: C17 and the warnings every source compiles without.
AC_DEFUN([GT_COMPILER], [
AC_ARG_ENABLE([werror],
  [AS_HELP_STRING([--enable-werror], [make warnings errors])],
  [], [enable_werror=no])
gt_warnings="-Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes"
gt_warnings="$gt_warnings -Wold-style-definition -Wshadow -Wundef"
gt_warnings="$gt_warnings -Wpointer-arith -Wwrite-strings -Wvla"
gt_warnings="$gt_warnings -Wformat=2 -Wno-format-nonliteral"
AS_IF([test "x$enable_werror" = xyes], [gt_warnings="$gt_warnings -Werror"])
AC_SUBST([GT_CFLAGS], ["-std=c17 $gt_warnings"])
])
