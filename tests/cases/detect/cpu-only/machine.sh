# A container without a PCI bus in its /sys, on an AMD machine with two nodes.
cpuinfo AuthenticAMD 25 1 "AMD EPYC 7763 64-Core Processor"
node 0 "0 1"
node 1 "2 3"
virtual_net lo
virtual_net eth0
