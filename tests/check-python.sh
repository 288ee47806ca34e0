#!/bin/sh
# The Python module on the shared library of the build folder.
: "${GTOPO_SRC:=.}" "${GTOPO:=$PWD/build/gtopo}"
export GTOPO_SRC
build=$(dirname "$GTOPO")
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 7))' 2>/dev/null
then
	echo "1..0 # skip no python3 of 3.7 or later"
	exit 0
fi
if nm -D "$build/libgtopo.so" | grep -qE ' __(a|t|ub)san_'; then
	echo "1..0 # skip sanitizers are in the library"
	exit 0
fi
LD_LIBRARY_PATH=$build exec python3 "$GTOPO_SRC/tests/python/test_gtopo.py"
