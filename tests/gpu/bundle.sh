#!/bin/bash
# All that a GPU machine without a source tree or compiler needs, in one folder
# and in one archive: bundle.sh BUILD SOURCE; `make gpu-bundle` calls it.
#
# BUILD/gpu-bundle has the programs, stripped, the scripts and, in lib, the
# libraries that the programs need besides libc's and CUDA's; beside it lies
# gpu-bundle.tar.xz.  There: bash gpu-bundle/machine.sh RESULTS
set -eu
build=$(cd "$1" && pwd) src=$(cd "$2" && pwd)
to=$build/gpu-bundle
rm -rf "$to"
mkdir -p "$to/lib"

cd "$build"
[ -x tests/gpu/matrix ] || { echo "$build was built without CUDA" >&2; exit 2; }
for program in gtopo libgtopo.so libnccl.so.2 tests/verbs/libsoftverbs.so \
	tests/gpu/{matrix,library,face,xid} \
	bench/{vs-nccl,vs-self,overlap,beside,messages,ceiling}; do
	strip -o "$to/${program##*/}" "$program"
done
cp "$src"/tests/gpu/*.sh "$src"/tests/gpu/*.py \
	"$src"/bench/{overlap,no-peers,measure,tuner}.sh \
	"$src"/share/xml/dgx-{h100,1v}.xml "$to"
git -C "$src" rev-parse --short HEAD >"$to/commit" 2>/dev/null ||
	echo unknown >"$to/commit"

# What libc, the compiler and the driver bring is the machine's own.
own='ld-linux|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+|cuda|nvidia-ml)[.-]'
ldd "$to/gtopo" "$to/libgtopo.so" "$to/vs-self" "$to/overlap" |
	awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
	grep -vE "/($own)" |
	while read -r library; do
		cp -L "$library" "$to/lib"
	done

tar -C "$build" -cJf "$to.tar.xz" gpu-bundle
du -h "$to.tar.xz"
