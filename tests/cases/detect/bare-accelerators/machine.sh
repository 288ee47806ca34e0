# Accelerators that nothing can be asked about: written as functions, without
# a gpu element; the management controller's VGA and a library of NVML that
# does not start are left out, the latter with a word.
cpuinfo GenuineIntel 6 143 "Intel(R) Xeon(R) Platinum 8480C"
node 0 "0 1"
g5=32.0\ GT/s\ PCIe/16
pci pci0000:10/0000:10:01.0 0x060400 8086:352a 8086:0000 0 "$g5"
pci pci0000:10/0000:10:01.0/0000:11:00.0 0x120000 1da3:1060 1da3:0000 0 "$g5"
pci pci0000:20/0000:20:01.0 0x060400 8086:352a 8086:0000 0 "$g5"
pci pci0000:20/0000:20:01.0/0000:21:00.0 0x030200 10de:2330 10de:16c1 0 "$g5"
pci pci0000:00/0000:00:1c.0 0x060400 8086:0000 8086:0000 0 "5.0 GT/s PCIe/1"
pci pci0000:00/0000:00:1c.0/0000:01:00.0 0x030000 1a03:2000 1a03:2000 0
pci pci0000:30/0000:30:00.0 0x030000 1002:744c 1002:0e3b 0
