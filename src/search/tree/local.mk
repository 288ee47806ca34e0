gtopo_core_sources += \
	%D%/certificate.c \
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
	%D%/round.c \
	%D%/shares.h \
	%D%/shape.c

EXTRA_DIST += %D%/README.md
