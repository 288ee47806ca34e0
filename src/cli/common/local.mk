gtopo_core_sources += \
	%D%/apart.c \
	%D%/apart.h \
	%D%/colour.c \
	%D%/colour.h \
	%D%/command.c \
	%D%/command.h \
	%D%/gpu_match.c \
	%D%/gpu_match.h \
	%D%/opt.c \
	%D%/opt.h \
	%D%/opt_help.c \
	%D%/p2p.h \
	%D%/proof_text.c \
	%D%/proof_text.h \
	%D%/reference.c \
	%D%/reference.h \
	%D%/use_text.c \
	%D%/use_text.h

EXTRA_DIST += %D%/README.md
