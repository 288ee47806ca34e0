gtopo_core_sources += \
	%D%/predict.c \
	%D%/predict.h

EXTRA_DIST += %D%/README.md
