#!/bin/bash
# setup.sh DIR: put into DIR what the virtual machines of the tests boot:
# kernel and modules of Debian's package, and an initial file system whose
# only purpose is to mount the host's / (read-only, with a layer of memory
# over it) and to go on there.  Does nothing when it was done before.
set -euo pipefail

dir=$1
mkdir -p "$dir"
cd "$dir"
[ ! -f ready ] || exit 0

fetch_kernel() {
	local package
	package=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$package" ] || {
		echo "no kernel package is known; apt-get update"
		return 1
	}
	rm -rf linux-image-*.deb
	apt-get download -qq "$package" 2>/dev/null || {
		echo "cannot download $package"
		return 1
	}
}

# Of the modules only the kinds that these machines may need.
unpack_kernel() {
	local kinds=(fs net crypto lib arch drivers/virtio drivers/infiniband
		drivers/net/*.ko)
	rm -rf boot lib
	dpkg --fsys-tarfile linux-image-*.deb | tar -x --wildcards \
		--no-wildcards-match-slash './boot/vmlinuz-*' \
		'./lib/modules/*/modules.*' \
		"${kinds[@]/#/./lib/modules/*/kernel/}"
	rm linux-image-*.deb
	version=$(ls lib/modules)
	mv "boot/vmlinuz-$version" vmlinuz
	/sbin/depmod -b . "$version" 2>/dev/null
}

# Modules in the order of loading, each once.
modules_for() {
	local name
	for name; do
		/sbin/modprobe -d . -S "$version" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

make_initrd() {
	local applet file
	rm -rf initrd
	mkdir -p initrd/{bin,modules,proc,sys,dev,new,host,memory}
	cp "$(command -v busybox)" initrd/bin/busybox
	for applet in sh mount insmod mkdir switch_root; do
		ln -s busybox "initrd/bin/$applet"
	done
	for file in $(modules_for virtio_pci 9pnet_virtio 9p overlay); do
		cp "$file" initrd/modules/
		echo "${file##*/}" >>initrd/order
	done
	cat >initrd/init <<-'END'
		#!/bin/sh
		mount -t proc none /proc
		mount -t sysfs none /sys
		mount -t devtmpfs none /dev
		while read -r module; do
			insmod "/modules/$module"
		done </order
		mount -t tmpfs none /memory
		mkdir /memory/upper /memory/work
		mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose host /host
		mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work none /new
		mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp
		for fs in proc sys dev; do
			mount --move /$fs /new/$fs
		done
		for word in $(cat /new/proc/cmdline); do
			case $word in init2=*) next=${word#init2=} ;; esac
		done
		exec switch_root /new /bin/bash "$next"
	END
	sed -i 's/\$(cat \(.*\))/$(busybox cat \1)/' initrd/init
	chmod +x initrd/init
	(cd initrd && find . | cpio -o -H newc --quiet) >initrd.cpio
	rm -rf initrd
}

fetch_kernel || exit 77
unpack_kernel
make_initrd
touch ready
