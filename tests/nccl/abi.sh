#!/bin/bash
# libnccl.so.2 as a file: its names are those of tests/nccl/symbols, each twice,
# it needs little beside libc, and a program that has nothing to do with it
# does not notice it.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
build=$(dirname "${GTOPO:=$PWD/build/gtopo}")
src=${GTOPO_SRC:-.}
lib=$build/libnccl.so.2

# Names of one kind (T: strong, W: weak) that are not on the list, and those
# that are missing.
names() { # KIND PREFIX
	nm -D --defined-only "$lib" | awk -v kind="$1" '$2 == kind {print $3}' |
		LC_ALL=C sort >"$tmp/has"
	sed "s/^/$2/" "$src/tests/nccl/symbols" | LC_ALL=C sort |
		diff - "$tmp/has" | grep '^[<>]'
}

others() {
	nm -D --defined-only "$lib" | awk '$2 !~ /[TWA]/'
}

soname() {
	readelf -d "$lib" | grep -q 'soname: \[libnccl\.so\.2\]' ||
		readelf -d "$lib" | grep -i soname
}

# What a wheel or a container has, and besides only what no archive was found
# of that can be part of a shared library.
needed() {
	local beside='^$'
	grep -q "^NCCL_DEPENDENCIES=.*JANSSON_LIBS" "$build/config.log" &&
		beside='^libjansson\.so'
	readelf -d "$lib" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -vE '^(libc|libm|libdl|librt|libpthread)\.so|^ld-linux' |
		grep -vE "$beside"
}

preloaded() { # COMMAND... that prints nothing
	LD_PRELOAD=$lib NCCL_DEBUG=INFO "$@" 2>&1
}

# The log of a program that makes communicators, and mistakes.
logged() { # LEVEL WORDS...
	local level=$1 words
	shift
	rm -f "$tmp"/log.*
	NCCL_DEBUG=$level NCCL_DEBUG_FILE=$tmp/log.%h.%p \
		GTOPO_NCCL_VERSION=2.30.7 "$build/tests/nccl/test_groups" \
		>"$tmp/out" 2>&1 || cat "$tmp/out"
	for words; do
		cat "$tmp/log.$(hostname)".[0-9]* | grep -qF -- "$words" ||
			echo "$level: no '$words'"
	done
}

# Nothing is said to people who did not ask.
silent() {
	"$build/tests/nccl/test_groups" 2>/dev/null | grep -i gtopo
	grep -hE 'error: |ranks' "$tmp"/log.*
}

verdict "strong names are pnccl and the list" "$(names T p)"
verdict "weak names are the list" "$(names W '')"
verdict "there are no other names" "$(others)"
verdict "it is called libnccl.so.2" "$(soname)"
if nm -D "$lib" | grep -qE ' __(a|t|ub)san_'; then
	skipped "it needs libc" "sanitizers are in it"
	skipped "a shell does not notice it" "likewise"
else
	verdict "it needs libc" "$(needed)"
	verdict "a shell does not notice it" "$(preloaded sh -c true)"
fi
if [ ! -x "$build/tests/nccl/test_groups" ]; then
	skipped "the log says what was asked" "no cmocka"
	skipped "and no more" "likewise"
else
	verdict "the log says what was asked" "$(logged INFO "says it is 2.30.7" \
		"ncclCommInitAll: 3 ranks, simulated CUDA, libgtopo" \
		"error: ncclGroupEnd: there is no group to end"
	logged WARN "error: ncclGroupEnd: there is no group to end")"
	logged VERSION >/dev/null
	verdict "and no more" "$(silent)"
fi
tap_end
