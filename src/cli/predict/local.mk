gtopo_core_sources += \
	%D%/predict.c \
	%D%/predict.h \
	%D%/staged.c \
	%D%/staged.h

EXTRA_DIST += %D%/README.md
