# command line tests, by area: NN-*.bats
