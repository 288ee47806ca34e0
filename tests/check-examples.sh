#!/bin/bash
# The examples do what they say, with the shared library; the library shows
# nothing but gtopo_ functions, and an installed one is found by pkg-config.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
build=$(dirname "${GTOPO:=$PWD/build/gtopo}")
src=${GTOPO_SRC:-.}

runs() { # PROGRAM WORDS
	local out
	out=$("$1" "$tmp/plan.json" 2>&1) || echo "status $?"
	[[ $out == *"$2"* ]] || echo "says '$out', not '$2'"
}

# A process for each plan, by hand, and what one of them must say.
processes() { # PROGRAM WORDS PLAN...
	local program=$1 words=$2 rank=0 pids=() pid status=0 plan
	shift 2
	export WORLD_SIZE=$# MASTER_ADDR=127.0.0.1 \
		GTOPO_SECRET="not so secret: a test"
	MASTER_PORT=$((20000 + ($$ * 7 + $#) % 10000))
	export MASTER_PORT
	for plan; do
		RANK=$rank timeout 60 "$build/examples/$program" \
			"$plan" >"$tmp/out.$rank" 2>&1 &
		pids+=($!)
		rank=$((rank + 1))
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || status=$?
	done
	unset WORLD_SIZE MASTER_ADDR MASTER_PORT GTOPO_SECRET
	grep -qE -- "$words" "$tmp"/out.* || cat "$tmp"/out.*
	rm -f "$tmp"/out.*
	return $status
}

three() {
	processes process-per-rank "ranks 2 to 4 of 8: all right" \
		"$tmp/plan.json" "$tmp/plan.json" "$tmp/plan.json" ||
		echo "status $?"
}

other_plans() {
	processes process-per-rank \
		"has 'gtopo .*, plan sha256:.*', this process 'gtopo" \
		"$tmp/plan.json" "$tmp/other.json" && echo "status 0"
}

# The program in EXAMPLES of a page of section 3, in a folder with a plan.
page_runs() { # PAGE WORDS [ARGUMENT]
	local name=$1 out
	sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/ { /^\.EX/,/^\.EE/p; }' \
		"$src/man/$name.3" |
		sed '/^\.E[XE]$/d; s/\\-/-/g; s/\\e/\\/g' >"$tmp/$name.c"
	${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$src/include" \
		"$tmp/$name.c" -L"$build" -lgtopo -o "$tmp/$name" 2>&1 || return
	out=$(cd "$tmp" && timeout 60 "./$name" ${3:+"$3"} 2>&1) ||
		echo "status $?"
	[[ $out == *"$2"* ]] || echo "says '$out', not '$2'"
}

skips() { # NAME WHY
	n=$((n + 1))
	echo "ok $n - $1 # skip $2"
}

# On GPUs where there are some; the programs say themselves when not.
gpus() {
	local out status
	if [ ! -x "$build/examples/gpu-streams" ]; then
		skips "streams of GPUs" "built without CUDA"
		skips "a process per GPU" "built without CUDA"
		return
	fi
	"$GTOPO" detect 2>/dev/null | "$GTOPO" search --algo ring --gpus 0,1 - \
		>"$tmp/gpus.json" 2>/dev/null
	out=$(timeout 120 "$build/examples/gpu-streams" "$tmp/gpus.json" 2>&1)
	status=$?
	if [ "$status" -eq 77 ]; then
		skips "streams of GPUs" "$out"
		skips "a process per GPU" "$out"
		return
	fi
	[[ $status -eq 0 && $out == *"GPUs have the sum"* ]] && out=
	verdict "streams of GPUs" "${out:+status $status: $out}"
	verdict "a process per GPU" "$(processes process-per-gpu \
		"ranks 1 to 1 of 2: all right" "$tmp/gpus.json" \
		"$tmp/gpus.json" || echo "status $?")"
}

shows() {
	nm -D --defined-only "$build/libgtopo.so" | awk '$2 != "A" {print $3}' |
		grep -v '^gtopo_[a-z_]*@@GTOPO_0$'
}

# As a user would: install for /usr, move it, then compile with what pkg-config
# and CMake find there.
install_moved() {
	local made=$tmp/made
	MAKEFLAGS= make -s -C "$build" install-exec-local install-data-local \
		install-includeHEADERS DESTDIR="$made" prefix=/usr \
		>"$tmp/log" 2>&1 || cat "$tmp/log"
	mv "$made/usr" "$tmp/inst"
}

by_pkg_config() {
	local flags
	flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$tmp/inst" -name gtopo.pc)") \
		pkg-config --cflags --libs gtopo) || return
	# shellcheck disable=SC2086
	${CC:-cc} "$src/examples/one-thread.c" $flags -o "$tmp/one" 2>&1
	LD_LIBRARY_PATH=$(dirname "$(find "$tmp/inst" -name libgtopo.so)") \
		runs "$tmp/one" "8 ranks have the sum"
}

by_cmake() { # VERSION: asked for; prints what goes wrong
	mkdir -p "$tmp/user"
	cp "$src/examples/one-thread.c" "$tmp/user"
	cat >"$tmp/user/CMakeLists.txt" <<-E
		cmake_minimum_required(VERSION 3.13)
		project(user C)
		find_package(gtopo $1 REQUIRED)
		add_executable(one one-thread.c)
		target_link_libraries(one gtopo::gtopo)
	E
	{ cmake -S "$tmp/user" -B "$tmp/user/build-$1" \
		-DCMAKE_PREFIX_PATH="$tmp/inst" &&
		cmake --build "$tmp/user/build-$1"; } >"$tmp/log" 2>&1 || {
		cat "$tmp/log"
		return 1
	}
	# It finds the library by itself, where CMake did.
	LD_LIBRARY_PATH='' runs "$tmp/user/build-$1/one" "8 ranks have the sum"
}

no_later_cmake() {
	by_cmake 99.0 >"$tmp/said" && echo "takes version 99"
	grep -q 'gtopo-config.cmake, version: ' "$tmp/said" || cat "$tmp/said"
}

uninstalled() {
	mv "$tmp/inst" "$tmp/made/usr"
	MAKEFLAGS= make -s -C "$build" uninstall-local \
		DESTDIR="$tmp/made" prefix=/usr >/dev/null
	find "$tmp/made" -name 'libgtopo*' -o -name 'gtopo.pc' -o \
		-name '*.cmake'
}

export LD_LIBRARY_PATH=$build
"$GTOPO" search --algo ring "$src/share/xml/dgx-h100.xml" >"$tmp/plan.json"
verdict "one thread" \
	"$(runs "$build/examples/one-thread" "8 ranks have the sum")"
verdict "a thread per rank" \
	"$(runs "$build/examples/thread-per-rank" "8 threads, two operations")"
verdict "messages between neighbours" "$(runs "$build/examples/neighbours" \
	"8 ranks know their neighbours' edges")"
gpus
verdict "three processes" "$(three)"
sed 's/"slots": [0-9]*/"slots": 16/' "$tmp/plan.json" >"$tmp/other.json"
verdict "processes that have different plans" "$(other_plans)"
absolute=$(cd "$src" && pwd)
page_examples() { # runs those of all pages that have a program
	page_runs gtopo_search '"gtopo.plan/1"' "$absolute/share/xml/dgx-1v.xml"
	page_runs gtopo_verify "8 ranks, "
	page_runs gtopo_comm_create "ranks 0 to 7 of 8"
	page_runs gtopo_allreduce 28
	page_runs gtopo_send "left of 0 is 7"
	page_runs gtopo_group_start ""
	page_runs gtopo_op_create_premul 2
}
if nm -D "$build/libgtopo.so" | grep -qE ' __(a|t|ub)san_'; then
	skipped "examples of section 3" "sanitizers are in the library"
else
	verdict "examples of section 3" "$(page_examples)"
fi
verdict "nothing else is exported" "$(shows)"
if nm -D "$build/libgtopo.so" | grep -qE ' __(a|t|ub)san_'; then
	skipped "installed and moved" "sanitizers are in it"
else
	verdict "installed for /usr, and moved" "$(install_moved)"
	verdict "found by pkg-config" "$(by_pkg_config)"
	if command -v cmake >/dev/null; then
		verdict "found by CMake" "$(by_cmake 0.1)"
		verdict "not found by CMake as a later version" \
			"$(no_later_cmake)"
	else
		skipped "found by CMake" "no cmake"
	fi
	verdict "uninstalled" "$(uninstalled)"
fi
tap_end
