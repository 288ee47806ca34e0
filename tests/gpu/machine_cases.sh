#!/bin/bash
# What leads through a GPU machine says what is wrong with its arguments, and
# bench/vs-self, on ranks on CPUs, what is equal and what is not.
set -u
src=$(cd "${GTOPO_SRC:-.}" && pwd)
. "$src/tests/tap.sh"
root=$(dirname "${GTOPO:-$PWD/gtopo}")
self=$root/bench/vs-self

mkdir "$tmp/bin"
printf '#!/bin/sh\n' >"$tmp/bin/nvidia-smi"
chmod +x "$tmp/bin/nvidia-smi"
machine=(env PATH="$tmp/bin:$PATH" bash "$src/tests/gpu/machine.sh")
ends "a machine's parts are told" 2 '^  overlap-PART$' "${machine[@]}"
ends "a part that is none" 2 "no part 'overlap'" "${machine[@]}" "$tmp/r" overlap
ends "a machine without GPUs" 77 'no GPU here' "${machine[@]}" "$tmp/r" race

turns=("$self" -d host -b 4K -e 4K -r 3 -c allreduce)
"$root/gtopo" search -q --algo ring --gpus 0,1 "$src/share/xml/dgx-h100.xml" \
	>"$tmp/plan.json"
cp "$root/libgtopo.so" "$tmp/other.so"
ends "two builds in turns" 0 '"ratio": [0-9]' \
	"${turns[@]}" "$tmp/plan.json" "$root/libgtopo.so" "$tmp/other.so"
ends "one way is no race" 2 '^usage: vs-self' \
	"${turns[@]}" "$tmp/plan.json" "$root/libgtopo.so"
ends "a way that is none" 2 "'bost' is none of best" \
	"${turns[@]}" "$tmp/plan.json" "$root/libgtopo.so" "$tmp/other.so:bost"
ends "a library that is none" 2 'vs-self: .*none.so' \
	"${turns[@]}" "$tmp/plan.json" "$root/libgtopo.so" "$tmp/none.so"
ends "what a way refuses is left out" 0 'is not invariant' "${turns[@]}" \
	"$tmp/plan.json" "$root/libgtopo.so" "$tmp/other.so:invariant"
tap_end
