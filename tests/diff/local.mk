# gtopo diff on renumbered, shuffled and faulty copies of machines.
cli_tests += %D%/planted.sh %D%/seeds.sh
EXTRA_DIST += %D%/mutate.py %D%/planted.py
