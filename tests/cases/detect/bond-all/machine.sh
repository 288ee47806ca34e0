# The machine of "bond", of which everything is wanted.
# shellcheck disable=SC1091
. tests/cases/detect/bond/machine.sh
