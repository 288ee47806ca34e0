#!/bin/bash
# In the guest: what any user sees, with the network card's link down.
set -eu
modprobe virtio_net
touch detected.xml
chmod 666 detected.xml
setpriv --reuid=65534 --regid=65534 --clear-groups \
	"$GTOPO" detect >detected.xml
