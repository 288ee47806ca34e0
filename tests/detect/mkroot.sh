#!/bin/bash
# mkroot.sh MACHINE DIR: make below DIR the sys and proc of the machine that
# the file MACHINE describes, as far as gtopo detect reads them.
#
# MACHINE is a shell script that calls the functions below.  Values are given
# as the kernel prints them, so that a file can be written by looking at a
# real machine; what a function does not make, put and link do.
set -eu

machine=$1
root=$2

put() { # PATH TEXT: a file with one line
	mkdir -p "$root/${1%/*}"
	printf '%s\n' "$2" >"$root/$1"
}

link() { # PATH TARGET (both below the root)
	mkdir -p "$root/${1%/*}" "$root/${2%/*}"
	ln -sfnr "$root/$2" "$root/$1"
}

# The kernel's mask of a list of CPUs ("0 1 4"), less than 32 of them.
mask() {
	local bits=0 cpu
	for cpu in $1; do
		bits=$((bits | 1 << cpu))
	done
	printf '%08x' "$bits"
}

ncpus=0

cpuinfo() { # VENDOR FAMILY MODEL NAME: of every CPU
	cpu_vendor=$1 cpu_family=$2 cpu_model=$3 cpu_name=$4
	put proc/hwloc-nofile-info "Architecture: ${5:-x86_64}"
}

node() { # NUMBER "CPUS": one package and NUMA node
	local cpu set
	set=$(mask "$2")
	put "sys/devices/system/node/node$1/cpumap" "$set"
	put "sys/devices/system/node/online" "0-$1"
	put "sys/devices/system/node/possible" "0-$1"
	for cpu in $2; do
		local dir=sys/devices/system/cpu/cpu$cpu/topology
		put "$dir/physical_package_id" "$1"
		put "$dir/package_cpus" "$set"
		put "$dir/core_siblings" "$set"
		put "$dir/core_id" "$cpu"
		put "$dir/core_cpus" "$(mask "$cpu")"
		put "$dir/thread_siblings" "$(mask "$cpu")"
		cat >>"$root/proc/cpuinfo" <<-END
			processor	: $cpu
			vendor_id	: $cpu_vendor
			cpu family	: $cpu_family
			model		: $cpu_model
			model name	: $cpu_name
			physical id	: $1

		END
		ncpus=$((ncpus + 1))
	done
	put sys/devices/system/cpu/online "0-$((ncpus - 1))"
	put sys/devices/system/cpu/possible "0-$((ncpus - 1))"
}

# hmat NODE READ WRITE: rates of its memory as the kernel has them, in MB/s
hmat() {
	local dir=sys/devices/system/node/node$1/access0/initiators
	put "$dir/read_bandwidth" "$2"
	put "$dir/write_bandwidth" "$3"
}

bytes() { # VALUE COUNT: a number, the lowest byte first
	local i
	for ((i = 0; i < $2; i++)); do
		printf "\\x$(printf '%02x' $(($1 >> 8 * i & 255)))"
	done
}

# dimm BANK DEVICE WIDTH SPEED [TYPE [SIZE]]: a slot of SMBIOS, DDR5 of 32 GiB
# unless said otherwise
dimm() {
	local table=$root/sys/firmware/dmi/tables/DMI
	mkdir -p "${table%/*}"
	{
		bytes 17 1 && bytes 34 1 && bytes 0x1100 2
		bytes 0 4 && bytes "$3" 2 && bytes "$3" 2
		bytes "${6:-32767}" 2 && bytes 9 1 && bytes 0 1
		bytes 1 1 && bytes 2 1 && bytes "${5:-0x22}" 1 && bytes 0 2
		bytes 65535 2 && bytes 0 9 && bytes "$4" 2
		printf '%s\0%s\0\0' "$2" "$1"
	} >>"$table"
}

# pci PATH CLASS VENDOR:DEVICE SUBSYSTEM NUMA [MAX [CURRENT]]: a function;
# PATH is that below sys/devices, SUBSYSTEM is VENDOR:DEVICE, MAX and CURRENT
# are links such as "32.0 GT/s PCIe/16", "-" where there is no such file.
pci() {
	local dir=sys/devices/$1 id=${1##*/}
	put "$dir/class" "$2"
	put "$dir/vendor" "0x${3%:*}"
	put "$dir/device" "0x${3#*:}"
	put "$dir/subsystem_vendor" "0x${4%:*}"
	put "$dir/subsystem_device" "0x${4#*:}"
	put "$dir/numa_node" "$5"
	pci_link "$dir" max "${6:--}"
	pci_link "$dir" current "${7:-${6:--}}"
	link "sys/bus/pci/devices/$id" "$dir"
}

pci_link() {
	[ "$3" != - ] || return 0
	put "$1/$2_link_speed" "${3%/*}"
	put "$1/$2_link_width" "${3##*/}"
}

slot() { # NAME ADDRESS: a slot, and the bus and device in it
	put "sys/bus/pci/slots/$1/address" "$2"
}

driver() { # BUSID NAME
	mkdir -p "$root/sys/bus/pci/drivers/$2"
	link "sys/bus/pci/devices/$1/driver" "sys/bus/pci/drivers/$2"
}

module() { # NAME VERSION: a loaded kernel module
	put "sys/module/$1/version" "$2"
}

iommu() { # BUSID GROUP [TYPE]
	local dir=sys/kernel/iommu_groups/$2
	mkdir -p "$root/$dir"
	[ -z "${3:-}" ] || put "$dir/type" "$3"
	link "sys/bus/pci/devices/$1/iommu_group" "$dir"
}

net() { # NAME DEVICE-PATH MAC SPEED: an Ethernet interface
	local dir=sys/devices/$2/net/$1
	put "$dir/type" 1
	put "$dir/addr_assign_type" 0
	put "$dir/address" "$3"
	[ "$4" = - ] || put "$dir/speed" "$4"
	link "$dir/device" "sys/devices/$2"
	link "sys/class/net/$1" "$dir"
}

virtual_net() { # NAME: an interface of no device
	put "sys/devices/virtual/net/$1/type" 1
	put "sys/devices/virtual/net/$1/address" 02:00:00:00:00:01
	link "sys/class/net/$1" "sys/devices/virtual/net/$1"
}

rdma() { # NAME DEVICE-PATH GUID: an RDMA device, "-" for one of no function
	local dir=sys/devices/$2/infiniband/$1
	[ "$2" != - ] || dir=sys/devices/virtual/infiniband/$1
	put "$dir/sys_image_guid" "$3"
	put "$dir/node_guid" "$3"
	[ "$2" = - ] || link "$dir/device" "sys/devices/$2"
	link "sys/class/infiniband/$1" "$dir"
}

port() { # DEVICE PORT STATE RATE [NETDEV [LAYER]]
	local dir=sys/class/infiniband/$1/ports/$2
	put "$dir/state" "$3"
	put "$dir/rate" "$4"
	[ -z "${5:-}" ] || put "$dir/gid_attrs/ndevs/0" "$5"
	[ -z "${6:-}" ] || put "$dir/link_layer" "$6"
}

# kfd NODE KEY VALUE...: a node of AMD's compute driver
kfd() {
	local path=sys/class/kfd/kfd/topology/nodes/$1/properties
	shift
	kfd_properties "$path" "$@"
}

kfd_link() { # NODE NUMBER KEY VALUE...
	local path=sys/class/kfd/kfd/topology/nodes/$1/io_links/$2/properties
	shift 2
	kfd_properties "$path" "$@"
}

kfd_properties() {
	mkdir -p "$root/${1%/*}"
	printf '%s %s\n' "${@:2}" >"$root/$1"
}

declare -A acs_of

acs() { # BUSID CONTROL: access control services of a port, in hexadecimal
	acs_of[$1]=$2
}

# Behind 64 bytes: nothing up to 0x100, where a capability (AER) comes before
# that of access control at 0x140.
acs_config() { # CONTROL
	head -c 192 /dev/zero
	printf '\x01\x00\x02\x14'
	head -c 60 /dev/zero
	printf '\x0d\x00\x01\x00\x5f\x00'
	printf "\\x${1:2:2}\\x${1:0:2}"
}

# Bus numbers of a bridge are in its configuration space: those below it.
bridges() {
	local dir id below first last
	for dir in "$root"/sys/bus/pci/devices/*; do
		[ -e "$dir" ] && [ "$(<"$dir/class")" = 0x060400 ] || continue
		below=$(find "$dir/" -mindepth 1 -type d \
			-name '????:??:??.?' -printf '%f\n' |
			cut -d: -f2 | sort)
		[ -n "$below" ] || below=$(basename "$dir" | cut -d: -f2)
		id=$(basename "$dir" | cut -d: -f2)
		first=$(head -n 1 <<<"$below")
		last=$(tail -n 1 <<<"$below")
		{
			head -c 14 /dev/zero
			printf '\x01' # a bridge's header
			head -c 9 /dev/zero
			printf "\\x$id\\x$first\\x$last"
			head -c 37 /dev/zero
			[ -z "${acs_of[${dir##*/}]:-}" ] ||
				acs_config "${acs_of[${dir##*/}]}"
		} >"$dir/config"
	done
}

mkdir -p "$root/sys" "$root/proc"
# shellcheck disable=SC1090
. "$machine"
bridges
