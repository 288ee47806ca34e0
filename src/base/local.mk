# base knows nothing of collectives; everything else may include it.
gtopo_core_sources += \
	%D%/arena.c \
	%D%/arena.h \
	%D%/buf.c \
	%D%/buf.h \
	%D%/bus_id.c \
	%D%/bus_id.h \
	%D%/clock.c \
	%D%/clock.h \
	%D%/cpus.c \
	%D%/cpus.h \
	%D%/digest.c \
	%D%/digest.h \
	%D%/draw.c \
	%D%/draw.h \
	%D%/dtype.c \
	%D%/dtype.def \
	%D%/dtype.h \
	%D%/err.c \
	%D%/err.h \
	%D%/file.c \
	%D%/file.h \
	%D%/json.c \
	%D%/json.h \
	%D%/json_writer.c \
	%D%/json_writer.h \
	%D%/kind.c \
	%D%/kind.h \
	%D%/must.c \
	%D%/must.h \
	%D%/pairs.c \
	%D%/pairs.h \
	%D%/rat.c \
	%D%/rat.h \
	%D%/tar.c \
	%D%/tar.h \
	%D%/text.h \
	%D%/thread.c \
	%D%/thread.h \
	%D%/tint.c \
	%D%/tint.h \
	%D%/unit.c \
	%D%/unit.h \
	%D%/utf8.c \
	%D%/utf8.h \
	%D%/vec.c \
	%D%/vec.h \
	%D%/word.c \
	%D%/word.h \
	%D%/xml.c \
	%D%/xml.h \
	%D%/xml_doc.h \
	%D%/xml_elem.c

EXTRA_DIST += %D%/README.md
