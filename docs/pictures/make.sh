#!/bin/sh
# Draws every picture of this folder from the source beside it.
set -e
cd "$(dirname "$0")"
for source in *.py; do
	[ "$source" = draw.py ] || PYTHONDONTWRITEBYTECODE=1 python3 "$source"
done
