gtopo_core_sources += \
	%D%/demand.c \
	%D%/demand_file.c \
	%D%/print.c \
	%D%/json.h \
	%D%/print_cluster.c \
	%D%/print_program.c \
	%D%/print_proof.c \
	%D%/print_sections.h \
	%D%/print_select.c \
	%D%/print_values.c \
	%D%/read.c \
	%D%/read_channel.c \
	%D%/read_cluster.c \
	%D%/read_measured.c \
	%D%/read_program.c \
	%D%/read_proof.c \
	%D%/read_sections.h \
	%D%/read_select.c \
	%D%/reader.c \
	%D%/reader.h \
	%D%/vertices.c

EXTRA_DIST += %D%/README.md
