#!/bin/sh
# Runs a bats file, or skips it where there is no bats.
if ! command -v bats >/dev/null; then
	echo "bats not found"
	exit 77
fi
exec bats --tap "$@"
