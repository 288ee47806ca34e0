gtopo_core_sources += \
	%D%/bareiss.c \
	%D%/bareiss.h \
	%D%/column_generation.c \
	%D%/column_generation.h \
	%D%/dictionary.c \
	%D%/dictionary.h \
	%D%/diving.c \
	%D%/diving.h \
	%D%/exact_basis.c \
	%D%/exact_basis.h \
	%D%/fewer_columns.c \
	%D%/fewer_columns.h \
	%D%/lp.c \
	%D%/lp.h

EXTRA_DIST += %D%/README.md
