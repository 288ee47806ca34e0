gtopo_core_sources += \
	%D%/device.c \
	%D%/digest.c \
	%D%/digest.h \
	%D%/facts.c \
	%D%/link.c \
	%D%/measured.c \
	%D%/measured.h \
	%D%/memory.c \
	%D%/out.c \
	%D%/out.h \
	%D%/read.c \
	%D%/reader.h \
	%D%/scan.c \
	%D%/write.c \
	%D%/write.h \
	%D%/write_device.c \
	%D%/write_measured.c \
	%D%/write_memory.c

EXTRA_DIST += %D%/README.md
