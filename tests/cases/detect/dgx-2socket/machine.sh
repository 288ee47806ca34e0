# Half of a DGX-like server: on each of two sockets a PCIe switch with a GPU
# and an InfiniBand card (the second one's link is down to x8), a dual-port
# Ethernet card right on a root port, a management controller, an NVMe drive
# beside the GPU, two NVSwitches, and a USB interface.  The first switch's ports
# redirect requests of peers, the IOMMU translates, the cards' firmware differs.
cpuinfo GenuineIntel 6 143 "Intel(R) Xeon(R) Platinum 8480C"
node 0 "0 1 2 3"
node 1 "4 5 6 7"

g4=16.0\ GT/s\ PCIe/16
g5=32.0\ GT/s\ PCIe/16
down=pci0000:15/0000:15:01.0/0000:16:00.0
pci pci0000:15/0000:15:01.0 0x060400 8086:352a 8086:0000 0 "$g5"
pci $down 0x060400 1000:c030 1000:a064 0 "$g5"
pci $down/0000:17:00.0 0x060400 1000:c030 1000:a064 0 "$g5"
pci $down/0000:17:01.0 0x060400 1000:c030 1000:a064 0 "$g5"
pci $down/0000:17:02.0 0x060400 1000:c030 1000:a064 0 "$g4"
pci $down/0000:17:00.0/0000:18:00.0 0x020700 15b3:1021 15b3:0041 0 "$g5"
pci $down/0000:17:01.0/0000:1b:00.0 0x030200 10de:2330 10de:16c1 0 \
	"$g5" "2.5 GT/s PCIe/16"
pci $down/0000:17:02.0/0000:1c:00.0 0x010802 144d:a80a 144d:a801 0 \
	"16.0 GT/s PCIe/4"
driver 0000:18:00.0 mlx5_core
driver 0000:1b:00.0 nvidia
rdma mlx5_0 $down/0000:17:00.0/0000:18:00.0 a088:c203:0054:8d2e
port mlx5_0 1 "4: ACTIVE" "400 Gb/sec (4X NDR)" "" InfiniBand
put sys/class/infiniband/mlx5_0/fw_ver 28.39.1002
acs 0000:17:00.0 001d
acs 0000:17:01.0 001d
iommu 0000:18:00.0 30 DMA-FQ
iommu 0000:1b:00.0 31 DMA

down=pci0000:97/0000:97:01.0/0000:98:00.0
pci pci0000:97/0000:97:01.0 0x060400 8086:352a 8086:0000 1 "$g5"
pci $down 0x060400 1000:c030 1000:a064 1 "$g5"
pci $down/0000:99:00.0 0x060400 1000:c030 1000:a064 1 "$g5" \
	"32.0 GT/s PCIe/8"
pci $down/0000:99:01.0 0x060400 1000:c030 1000:a064 1 "$g5"
pci $down/0000:99:00.0/0000:9a:00.0 0x020700 15b3:1021 15b3:0041 1 "$g5" \
	"32.0 GT/s PCIe/8"
pci $down/0000:99:01.0/0000:9d:00.0 0x030200 10de:2330 10de:16c1 1 \
	"$g5" "2.5 GT/s PCIe/16"
driver 0000:9a:00.0 mlx5_core
driver 0000:9d:00.0 nvidia
rdma mlx5_1 $down/0000:99:00.0/0000:9a:00.0 a088:c203:0054:9000
port mlx5_1 1 "1: DOWN" "10 Gb/sec (4X SDR)" "" InfiniBand
put sys/class/infiniband/mlx5_1/fw_ver 28.39.3004
acs 0000:99:00.0 0000
acs 0000:99:01.0 0000

card=pci0000:00/0000:00:02.0
pci $card 0x060400 8086:347a 8086:0000 0 "$g4"
pci $card/0000:29:00.0 0x020000 15b3:101d 15b3:0042 0 "16.0 GT/s PCIe/8"
pci $card/0000:29:00.1 0x020000 15b3:101d 15b3:0042 0 "16.0 GT/s PCIe/8"
driver 0000:29:00.0 mlx5_core
driver 0000:29:00.1 mlx5_core
rdma mlx5_2 $card/0000:29:00.0 a088:c203:0010:0000
rdma mlx5_3 $card/0000:29:00.1 a088:c203:0010:0000
port mlx5_2 1 "4: ACTIVE" "100 Gb/sec (4X EDR)" ens1f0 Ethernet
port mlx5_3 1 "4: ACTIVE" "100 Gb/sec (4X EDR)" ens1f1 Ethernet
net ens1f0 $card/0000:29:00.0 a0:88:c2:10:00:00 100000
net ens1f1 $card/0000:29:00.1 a0:88:c2:10:00:01 100000

pci pci0000:00/0000:00:03.0 0x060400 8086:347b 8086:0000 0 "8.0 GT/s PCIe/1"
pci pci0000:00/0000:00:03.0/0000:02:00.0 0x060400 1a03:1150 1a03:1150 0 \
	"5.0 GT/s PCIe/1"
pci pci0000:00/0000:00:03.0/0000:02:00.0/0000:03:00.0 0x030000 1a03:2000 \
	1a03:2000 0
pci pci0000:00/0000:00:14.0 0x0c0330 8086:a36d 8086:7270 0
net usb0 pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0 3a:68:dd:00:00:01 10
pci pci0000:5a/0000:5a:01.0 0x060400 8086:352b 8086:0000 0 "$g5"
pci pci0000:5a/0000:5a:01.0/0000:5b:00.0 0x068000 10de:22a3 10de:1796 0
pci pci0000:5a/0000:5a:01.0/0000:5c:00.0 0x068000 10de:22a3 10de:1796 0
mkdir -p "$root/sys/module/nvidia_peermem"
module nvidia 550.54.15
module mlx5_core 23.10-1.1.9
put proc/driver/nvidia/version "NVRM version: NVIDIA UNIX Open Kernel Module \
for x86_64  550.54.15  Release Build"
put proc/sys/kernel/osrelease 5.15.0-105-generic
# Of its memory the kernel has rates, which come before the list of modules.
hmat 0 307200 230400
hmat 1 307200 230400
dimm "CPU0 CHANNEL 0" "DIMM 0" 64 4800
