# gtopo detect: what it writes, here and on machines that are cases.

load common

@test "this machine is written, and nothing is said" {
	run_split gtopo detect
	want 0 ""
	[[ $out == '<system version="1">'* ]]
	[[ $out == *'<cpu numaid='* ]]
}

@test "-o writes the same file" {
	gtopo detect >"$BATS_TEST_TMPDIR/a"
	gtopo detect -o "$BATS_TEST_TMPDIR/b"
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
}

@test "a full disk is told" {
	[ -c /dev/full ] || skip "no /dev/full"
	run_split gtopo detect -o /dev/full
	[ "$status" -eq 3 ]
	[[ $err == "gtopo detect: /dev/full: cannot write: "* ]]
}

@test "a root without sys, a library that is none, an operand" {
	run_split gtopo detect --root "$BATS_TEST_TMPDIR"
	want 2 "gtopo detect: --root '$BATS_TEST_TMPDIR' has no folder sys"
	run_split gtopo detect --nvml "$BATS_TEST_TMPDIR/none.so"
	[ "$status" -eq 2 ]
	[[ $err == "gtopo detect: cannot load NVML: "*none.so* ]]
	run_split gtopo detect node.xml
	want 2 "gtopo detect: 'node.xml' is one operand too many; see \
'gtopo help detect'"
}

@test "where there is nothing to read there still is a processor" {
	mkdir "$BATS_TEST_TMPDIR/sys"
	run_split gtopo detect --root "$BATS_TEST_TMPDIR"
	want 0 ""
	[[ $out == *'<cpu numaid="0"'* ]]
	[[ $out != *'<pci'* ]]
}

@test "no rights are needed" {
	[ "$(id -u)" -eq 0 ] || skip "not root, so every test shows it"
	command -v setpriv >/dev/null || skip "no setpriv"
	as_nobody() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	}
	as_nobody test -x "$GTOPO" || skip "$GTOPO is out of nobody's reach"
	# Devices that root alone may open, ports' configuration space, and the
	# list of memory modules
	local more='s/ (maxconn|gt_dmabuf|gt_port_acs|gt_memory_gbs)="[^"]*"//g
		s/ gt_assumed="gt_memory_gbs:dmi"//'
	gtopo detect | sed -E "$more" >"$BATS_TEST_TMPDIR/root"
	as_nobody "$GTOPO" detect | sed -E "$more" |
		diff "$BATS_TEST_TMPDIR/root" -
}

@test "it takes less than 150 ms" {
	local start end best=1000 most=150
	# A sanitizer takes most of the time where there is one.
	! grep -q __asan_init "$GTOPO" || most=600
	# On a busy machine it takes some tries to have a processor so long.
	for _ in {1..20}; do
		start=$(date +%s%N)
		gtopo detect >/dev/null
		end=$(date +%s%N)
		[ $(((end - start) / 1000000)) -ge $best ] ||
			best=$(((end - start) / 1000000))
		[ $best -ge $most ] || break
	done
	echo "best: $best ms"
	[ $best -lt $most ]
}

@test "a library that is not NVML is told, the rest is written" {
	run_split gtopo detect --nvml libm.so.6
	[ "$status" -eq 0 ]
	[[ $err == "gtopo detect: GPUs are left out: NVML fails: nvml"*missing ]]
	[[ $out == *"</system>" ]]
}

@test "--measure without CUDA, without a GPU, with --root" {
	run_split gtopo detect --measure --root "$BATS_TEST_TMPDIR"
	want 2 "gtopo detect: --measure measures this machine, not that of \
--root"
	if gtopo version -v | grep -qx 'cuda yes'; then
		[ ! -e /dev/nvidiactl ] || skip "there is a GPU"
		run_split gtopo detect --measure
		[ "$status" -eq 3 ]
		[[ $err == "gtopo detect: no GPU to measure: "* ]]
	else
		run_split gtopo detect --measure
		want 2 "gtopo detect: --measure needs a gtopo that was built \
with CUDA"
	fi
	[ -z "$out" ]
}

@test "what NCCL's table of elements cannot hold is told" {
	local root=$BATS_TEST_TMPDIR/root port
	cat >"$BATS_TEST_TMPDIR/machine" <<-'END'
		cpuinfo GenuineIntel 6 143 "a processor"
		node 0 0
		pci pci0000:00/0000:00:03.0 0x020700 15b3:1021 15b3:0041 0
		rdma mlx5_0 pci0000:00/0000:00:03.0 a088:c203:0054:8d2e
		mkdir -p "$root"/sys/class/infiniband/mlx5_0/ports/{1..252}
	END
	bash "$GTOPO_SRC/tests/detect/mkroot.sh" "$BATS_TEST_TMPDIR/machine" "$root"
	run_split gtopo detect --root "$root"
	want 0 "gtopo detect: 256 elements: NCCL takes files of at most 255"
	rmdir "$root"/sys/class/infiniband/mlx5_0/ports/252
	run_split gtopo detect --root "$root"
	want 0 ""
}

@test "-v tells what every probe found and what it could not read" {
	local root=$BATS_TEST_TMPDIR/root
	bash "$GTOPO_SRC/tests/detect/mkroot.sh" \
		"$GTOPO_SRC/tests/cases/detect/bond/machine.sh" "$root"
	run_split gtopo detect -v --root "$root" -o "$BATS_TEST_TMPDIR/xml"
	want 0 "\
gtopo detect: hwloc: NUMA nodes: 1; PCI devices: 4
gtopo detect: nvml: not asked
gtopo detect: kfd: GPUs: 0; nodes that could not be read: 0
gtopo detect: rdma: ports: 1; nvidia_peermem not loaded
gtopo detect: net: bond0 left out: virtual, or on no card
gtopo detect: net: br0 left out: virtual, or on no card
gtopo detect: net: 0000:31:00.0 has no port
gtopo detect: net: network cards: 3
gtopo detect: pci: functions kept: 3; links of 3 could be read, access control \
of 0 of 3 ports
gtopo detect: host: virtual machine: no sign; container: no sign; IOMMU: unknown"
}

@test "NVML that cannot count, GPUs that tell nothing but what they are" {
	local lib root=$BATS_TEST_TMPDIR/root
	lib=$(dirname "$GTOPO")/tests/detect/libnvidia-ml.so.1
	[ -f "$lib" ] || skip "no simulated NVML: make check builds it"
	mkdir -p "$root/sys"
	export GTOPO_FAKE_NVML=$BATS_TEST_TMPDIR/nvml
	echo "gpu busid=0000:01:00.0 id=0x233010de sm=90" >"$GTOPO_FAKE_NVML"
	run_split gtopo detect -v --root "$root" --nvml "$lib"
	[[ $out == *'<pci busid="0000:01:00.0" class="0x03" vendor="0x10de"'* ]]
	[[ $out == *'gt_assumed="class:nvml link_speed:nccl link_width:nccl"'* ]]
	[[ $out == *'<gpu dev="0" sm="90" rank="0"/>'* ]]
	[[ $err == *"nvml: driver of no version, CUDA unknown"* ]]
	[[ $err == *"no name, NVLinks up: 0, down: 0, no firmware version"* ]]
	echo "system count=999" >>"$GTOPO_FAKE_NVML"
	run_split gtopo detect --root "$root" --nvml "$lib"
	want 0 "gtopo detect: GPUs are left out: NVML cannot count them"
}

@test "--gather: an archive for a report, which says what is in it" {
	cd "$BATS_TEST_TMPDIR"
	(cd "$GTOPO_SRC" && bash tests/detect/mkroot.sh \
		tests/cases/detect/cpu-only/machine.sh "$BATS_TEST_TMPDIR/root")
	mkdir -p root/proc/sys/kernel
	echo secrethost >root/proc/sys/kernel/hostname
	echo 6.1.0-test >root/proc/sys/kernel/osrelease
	mkdir -p root/proc/driver/nvidia
	echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1  Release Build  (root@secretbuilder)  Tue Nov  4' \
		>root/proc/driver/nvidia/version
	echo 'root=/dev/sda1 iommu=pt token=geheim numa_balancing=0 word -- pci=no' \
		>root/proc/cmdline
	run_split gtopo detect --gather report.tar --root root
	[ "$status" -eq 0 ]
	[ -z "$out" ]
	tar xf report.tar
	[ "$(ls gtopo-gather | sort | paste -sd ' ')" = \
		"README cmdline.txt lint.txt pci.txt topology.xml versions.txt" ]
	diff <(gtopo detect --root root) gtopo-gather/topology.xml
	diff - gtopo-gather/cmdline.txt <<-'END'
	iommu=pt
	numa_balancing=0
	(5 more left out)
	END
	grep -qx 'kernel           6.1.0-test' gtopo-gather/versions.txt
	grep -qx 'nvidia           NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1' \
		gtopo-gather/versions.txt
	[ "$(wc -l <gtopo-gather/pci.txt)" -eq \
		"$(ls root/sys/bus/pci/devices | wc -l)" ]
	run grep -rE 'secrethost|secretbuilder|geheim|sda1' gtopo-gather
	[ "$status" -eq 1 ]
	for file in cmdline.txt lint.txt pci.txt topology.xml versions.txt; do
		grep -q "^$file " gtopo-gather/README
		[[ $err == *"gtopo detect: $file: "* ]]
	done
	[[ $err == *"There is no name of the host"* ]]
	run_split gtopo detect --gather report.tar -o x.xml
	want 2 "gtopo detect: --gather goes with neither -o nor --all-ranks"
	run_split gtopo detect --gather report.tar.gz --root root
	want 2 "gtopo detect: report.tar.gz: --gather writes a plain tar archive: name it .tar, and pack it afterwards"
	[ ! -e report.tar.gz ]
}
