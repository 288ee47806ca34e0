#!/bin/bash
# The examples do what they say, with the shared library; the library shows
# nothing but gtopo_ functions, and an installed one is found by pkg-config.
set -u
build=$(dirname "${GTOPO:=$PWD/build/gtopo}")
src=${GTOPO_SRC:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

n=0
verdict() { # NAME FINDINGS
	n=$((n + 1))
	[ -z "$2" ] || printf '%s\nnot ' "$2"
	echo "ok $n - $1"
}

runs() { # PROGRAM WORDS
	local out
	out=$("$1" "$tmp/plan.json" 2>&1) || echo "status $?"
	[[ $out == *"$2"* ]] || echo "says '$out', not '$2'"
}

shows() {
	nm -D --defined-only "$build/libgtopo.so" | awk '$2 != "A" {print $3}' |
		grep -v '^gtopo_[a-z_]*@@GTOPO_0$'
}

# As a user would: install, then compile with what pkg-config says.
installed() {
	local dir=$tmp/inst flags
	MAKEFLAGS= make -s -C "$build" install-exec-local install-includeHEADERS \
		install-pkgconfigDATA DESTDIR="$dir" >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; return; }
	export PKG_CONFIG_PATH
	PKG_CONFIG_PATH=$(dirname "$(find "$dir" -name gtopo.pc)")
	flags=$(pkg-config --define-variable=prefix="$dir$(pkg-config \
		--variable=prefix gtopo)" --cflags --libs gtopo) || return
	# shellcheck disable=SC2086
	${CC:-cc} "$src/examples/one-thread.c" $flags -o "$tmp/one" 2>&1
	LD_LIBRARY_PATH=$(dirname "$(find "$dir" -name libgtopo.so)") \
		runs "$tmp/one" "8 ranks have the sum"
	MAKEFLAGS= make -s -C "$build" uninstall-local DESTDIR="$dir" >/dev/null
	find "$dir" -name 'libgtopo*'
}

export LD_LIBRARY_PATH=$build
"$GTOPO" search --algo ring "$src/share/xml/dgx-h100.xml" >"$tmp/plan.json"
verdict "one thread" \
	"$(runs "$build/examples/one-thread" "8 ranks have the sum")"
verdict "a thread per rank" \
	"$(runs "$build/examples/thread-per-rank" "8 threads, two operations")"
verdict "nothing else is exported" "$(shows)"
if nm -D "$build/libgtopo.so" | grep -qE ' __(a|t|ub)san_'; then
	n=$((n + 1))
	echo "ok $n - installed, with pkg-config # skip sanitizers are in it"
else
	verdict "installed, with pkg-config" "$(installed)"
fi
echo "1..$n"
