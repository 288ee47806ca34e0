# gtopo diff on renumbered, shuffled and faulty copies of machines.
cli_tests += %D%/seeds.sh
EXTRA_DIST += %D%/mutate.py
