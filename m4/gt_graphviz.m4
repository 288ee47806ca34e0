# GT_GRAPHVIZ: pictures by gtopo show; auto, yes or no.  The library is loaded
# when a picture is drawn, so the program runs where it is not.
AC_DEFUN([GT_GRAPHVIZ], [
AC_ARG_WITH([graphviz],
  [AS_HELP_STRING([--without-graphviz], [build without pictures])],
  [], [with_graphviz=auto])
gt_graphviz=no
gt_graphviz_says="no (--without-graphviz)"
AS_IF([test "x$with_graphviz" != xno], [
  PKG_CHECK_MODULES([GRAPHVIZ], [libgvc libcgraph], [
    gt_graphviz=yes
    gt_graphviz_says="yes"
    gt_gvc_so=`readlink -f "$($PKG_CONFIG --variable=libdir libgvc)/libgvc.so"`
    gt_gvc_so=`basename "$gt_gvc_so" | $SED 's/\(\.so\.[[0-9]]*\).*/\1/'`
    AS_CASE([$gt_gvc_so], [libgvc.so.*], [], [gt_gvc_so=libgvc.so])
    AC_DEFINE([HAVE_GRAPHVIZ], [1], [libgvc can be loaded])
    AC_DEFINE_UNQUOTED([GT_GVC_SO], ["$gt_gvc_so"], [what libgvc is called])
  ], [
    gt_graphviz_says="no (libgvc not found)"
    AS_IF([test "x$with_graphviz" = xyes],
      [AC_MSG_ERROR([libgvc not found (Debian: libgraphviz-dev)])])
  ])
])
])
