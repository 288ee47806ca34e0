gtopo_core_sources += \
	%D%/certificate.c \
	%D%/certificate.h \
	%D%/exact.c \
	%D%/exact.h \
	%D%/forest.c \
	%D%/forest.h \
	%D%/hop_costs.c \
	%D%/hop_costs.h \
	%D%/master.c \
	%D%/master.h \
	%D%/pool.c \
	%D%/pool.h \
	%D%/reduce_trees.c \
	%D%/reduce_trees.h \
	%D%/round.c \
	%D%/round.h \
	%D%/shape.c

EXTRA_DIST += %D%/README.md
