# GT_HWLOC: processors, NUMA nodes and the PCI tree.
AC_DEFUN([GT_HWLOC], [
PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.4])
])
