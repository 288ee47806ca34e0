gtopo_core_sources += \
	%D%/equal_shares.c \
	%D%/equal_shares.h \
	%D%/equal_shares_certificate.c \
	%D%/exchange.c \
	%D%/greedy.c \
	%D%/greedy.h \
	%D%/integral.c \
	%D%/local_search.c \
	%D%/local_search.h \
	%D%/master.c \
	%D%/master.h \
	%D%/pool.c \
	%D%/pool.h \
	%D%/pricing.c \
	%D%/pricing.h \
	%D%/pricing_closed.c \
	%D%/pricing_closed.h \
	%D%/program.c \
	%D%/program.h \
	%D%/reduce_channels.c \
	%D%/channels.h \
	%D%/shape.c \
	%D%/sparse_solution.c \
	%D%/sparse_solution.h

EXTRA_DIST += %D%/README.md
