gtopo_core_sources += \
	%D%/bytes.c \
	%D%/device.c \
	%D%/device.h \
	%D%/element.c \
	%D%/facts.c \
	%D%/finding.c \
	%D%/finding.h \
	%D%/graph.c \
	%D%/inventory.c \
	%D%/inventory.h \
	%D%/links.c \
	%D%/links.h \
	%D%/lint.c \
	%D%/lint.def \
	%D%/lint.h \
	%D%/linter.c \
	%D%/linter.h \
	%D%/sisters.c \
	%D%/sisters.h

EXTRA_DIST += %D%/README.md
