#!/bin/bash
# In the guest: soft-RoCE on all network cards but the last, a link that came
# up other than it could, a port that redirects peers, then what gtopo detects
# and routes.
set -eu
modprobe -a virtio_net rdma_rxe ib_uverbs
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.accept_local=1 \
	net.ipv4.conf.all.arp_ignore=1
# The kernel numbers interfaces as it comes; the address knows the card.
for path in /sys/class/net/eth*; do
	number=$((16#$(cut -d: -f6 "$path/address") - 16))
	ip link set "${path##*/}" name "card$number"
done
for number in 0 1 2 3 4 5 6 7; do
	ip addr add "10.1.0.$((number + 1))/24" dev "card$number"
	ip link set "card$number" mtu 4500 up
	[ $number = 7 ] || rdma link add "rxe$number" type rxe \
		netdev "card$number"
done
for _ in $(seq 50); do
	cat /sys/class/infiniband/*/ports/1/state >states
	[ "$(grep -c ACTIVE states)" -lt 7 ] || break
	sleep 0.1
done
slow=/sys/bus/pci/devices/0000:21:00.0
echo "8.0 GT/s PCIe" >/tmp/speed
echo 4 >/tmp/width
mount --bind /tmp/speed $slow/current_link_speed
mount --bind /tmp/width $slow/current_link_width
# Access control of the port above that switch, turned on in its registers.
config=$slow/../config
at=256
while [ $at -ne 0 ]; do
	head=$(od -An -tu4 -j $at -N 4 $config)
	[ $((head & 65535)) -ne 13 ] || break
	at=$((head >> 20))
done
printf '\035\0' | dd of=$config bs=1 seek=$((at + 6)) conv=notrunc 2>/dev/null
"$GTOPO" detect -o detected.xml
"$GTOPO" paths --matrix detected.xml >paths.txt
