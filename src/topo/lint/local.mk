gtopo_core_sources += \
	%D%/bytes.c \
	%D%/element.c \
	%D%/facts.c \
	%D%/graph.c \
	%D%/lint.c \
	%D%/lint.def \
	%D%/lint.h \
	%D%/linter.h
