#!/bin/bash
# The packages of Debian and Fedora, made of what is in the build folder: what
# they hold, and that the program does its main job in a clean root, where
# nothing but its package was installed.  Prints TAP.
#
# A clean root is fetched from Debian's archive, as mmdebstrap knows it; what is
# missing here (tools, a network, the right to be root) is a skip that says so.
set -u
GTOPO_SRC=$(cd "${GTOPO_SRC:-.}" && pwd)
. "$GTOPO_SRC/tests/tap.sh"
build=$(cd "$(dirname "${GTOPO:-$GTOPO_SRC/build/gtopo}")" && pwd)

have() { # COMMANDS...: or prints which is missing
	local name
	for name; do
		command -v "$name" >/dev/null || { echo "no $name"; return 1; }
	done
}

# --- one version everywhere ---

versions() {
	local version file
	version=$("$build/gtopo" version | sed -n '1s/^gtopo //p')
	for file in "debian/changelog:gtopo ($version-" \
		"gtopo.spec:Version: *$version\$" "NEWS:^$version " \
		"include/gtopo.h:\"$version\""; do
		grep -q -- "${file#*:}" "$GTOPO_SRC/${file%%:*}" ||
			echo "${file%%:*} is not of version $version"
	done
	grep -L "\"gtopo $version\"" "$GTOPO_SRC"/man/*.[1357] |
		sed "s/\$/ is not of version $version/"
}

# --- Debian's ---

# In a folder that looks like the sources, so that nothing is left in them.
debs_made() {
	local file
	mkdir -p "$tmp/src" "$tmp/debs"
	for file in "$GTOPO_SRC"/*; do
		case ${file##*/} in
		build* | debian) ;;
		*)
			if [ -d "$file" ]; then
				ln -s "$file" "$tmp/src"
			else
				cp "$file" "$tmp/src"
			fi
			;;
		esac
	done
	cp -r "$GTOPO_SRC/debian" "$tmp/src"
	# Packed quickly: these are thrown away.
	(cd "$tmp/src" && MAKEFLAGS='' GTOPO_BUILD=$build GTOPO_DEBS=$tmp/debs \
		DEB_BUILD_OPTIONS=noautodbgsym \
		debian/rules binary) >"$tmp/debs.log" 2>&1 || {
		tail -n 30 "$tmp/debs.log"
		return
	}
	for file in gtopo libgtopo0 libgtopo-dev python3-gtopo; do
		ls "$tmp"/debs/"$file"_*.deb >/dev/null 2>"$tmp/log" ||
			cat "$tmp/log"
	done
}

# Nobody publishes these: they have no mail address and close no bug.  The
# solver's archives bring zlib and bzip2 when CI compiles; debian/rules alone
# takes the shared ones.
linted() {
	lintian --allow-root --fail-on error,warning --suppress-tags \
bogus-mail-host,bogus-mail-host-in-debian-changelog,\
initial-upload-closes-no-bugs,embedded-library \
		"$tmp"/debs/*.deb 2>&1 || true
}

# The packed program finds its machines and its libnccl wherever it lies.
unpacked() {
	local root=$tmp/root deb run
	for deb in "$tmp"/debs/*.deb; do
		dpkg-deb -x "$deb" "$root" || echo "cannot unpack $deb"
	done
	run=$root/usr/bin/gtopo
	(cd "$tmp" && "$run" search -q -o packed.json dgx-h100 &&
		"$run" verify packed.json && "$run" exec -- sh -c \
			'grep -m 1 -o "/usr/lib/gtopo/libnccl.*" /proc/$$/maps') \
		>"$tmp/said" 2>&1 || cat "$tmp/said"
	grep -q "optimal, proven" "$tmp/said" || echo "no proof"
	grep -q "^/usr/lib/gtopo/libnccl.so.2" "$tmp/said" || echo "no libnccl"
}

# Begun before there are packages, for which it waits: most of its time goes into
# what it fetches.
clean_root() { # prints why there is none
	local suite missing
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	missing=$(have mmdebstrap) || { echo "$missing"; return; }
	[ "$(id -u)" -eq 0 ] || { echo "only for root"; return; }
	# shellcheck disable=SC2016
	timeout 600 mmdebstrap --quiet --variant=apt --format=null \
		--aptopt='Acquire::Languages "none"' \
		--dpkgopt=force-unsafe-io \
		--customize-hook="touch '$tmp/fetched'" \
		--customize-hook="until [ -e '$tmp/made' ]; do sleep 0.2; done" \
		--customize-hook="cp -r '$tmp/debs' \"\$1/root\"" \
		--customize-hook="cp '$GTOPO_SRC/tests/package/try.sh' \"\$1/root\"" \
		--customize-hook='chroot "$1" sh /root/try.sh' \
		"$suite" /dev/null >"$tmp/root.log" 2>&1
	[ -e "$tmp/fetched" ] || tail -n 1 "$tmp/root.log"
}

installed() {
	grep -qx "all of it ran" "$tmp/root.log" || cat "$tmp/root.log"
}

# --- Fedora's ---

rpms_made() {
	local name
	cd "$GTOPO_SRC" || return
	MAKEFLAGS='' rpmbuild -bb --nodeps --build-in-place \
		--define "_topdir $tmp/rpm" --define "gtopo_build $build" \
		--define "_binary_payload w1.gzdio" \
		gtopo.spec >"$tmp/rpm.log" 2>&1 || {
		tail -n 30 "$tmp/rpm.log"
		return
	}
	for name in gtopo gtopo-libs gtopo-devel python3-gtopo; do
		ls "$tmp"/rpm/RPMS/*/"$name"-[0-9]*.rpm >/dev/null 2>"$tmp/log" ||
			cat "$tmp/log"
	done
}

fedora() {
	local missing
	if missing=$(have rpmbuild); then
		verdict "Fedora's packages are made" "$(rpms_made)"
	else
		skipped "Fedora's packages are made" "$missing"
	fi
}

# --- all, the slowest beside the others ---

packages() {
	local missing clean="installed in a clean root: detect, search, run"
	if ! missing=$(have dh dpkg-shlibdeps dpkg-deb); then
		skipped "Debian's packages are made" "$missing"
		fedora
		return
	fi
	clean_root >"$tmp/rootless" &
	verdict "Debian's packages are made" "$(debs_made)"
	touch "$tmp/made"
	if missing=$(have lintian); then
		verdict "lintian finds nothing in them" "$(linted)"
	else
		skipped "lintian finds nothing in them" "$missing"
	fi
	verdict "unpacked anywhere, it finds its files" "$(unpacked)"
	fedora
	wait
	if [ -s "$tmp/rootless" ]; then
		skipped "$clean" "$(cat "$tmp/rootless")"
	else
		verdict "$clean" "$(installed)"
	fi
}

verdict "one version everywhere" "$(versions)"
packages
tap_end
