# results of runs, as text and JSON
gtopo_core_sources += \
	%D%/json.c \
	%D%/nccl_tuner.c %D%/nccl_tuner.h \
	%D%/report.c %D%/report.h \
	%D%/text.c

EXTRA_DIST += %D%/README.md
