gtopo_core_sources += \
	%D%/explain.c \
	%D%/job.c \
	%D%/job.h \
	%D%/job_files.c \
	%D%/job_json.c \
	%D%/job_text.c \
	%D%/mixed.c \
	%D%/mixed.h \
	%D%/tell.c \
	%D%/tell.h

EXTRA_DIST += %D%/README.md
