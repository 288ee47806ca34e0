#!/bin/bash
# machine.sh WORK: the arguments of qemu for a machine that is eight hosts'.
echo -smp 2
