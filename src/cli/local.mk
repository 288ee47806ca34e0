# the table of commands, one file a command; what a command is made of lies in a
# folder of its name
gtopo_core_sources += \
	%D%/cmd.c \
	%D%/cmd.def \
	%D%/cmd.h \
	%D%/cmd_compare.c \
	%D%/cmd_detect.c \
	%D%/cmd_diff.c \
	%D%/cmd_exec.c \
	%D%/cmd_export.c \
	%D%/cmd_fuse.c \
	%D%/cmd_health.c \
	%D%/cmd_help.c \
	%D%/cmd_import.c \
	%D%/cmd_lint.c \
	%D%/cmd_nccl.c \
	%D%/cmd_page.c \
	%D%/cmd_paths.c \
	%D%/cmd_pick.c \
	%D%/cmd_predict.c \
	%D%/cmd_run.c \
	%D%/cmd_search.c \
	%D%/cmd_show.c \
	%D%/cmd_steps.c \
	%D%/cmd_synth.c \
	%D%/cmd_tune.c \
	%D%/cmd_verify.c \
	%D%/cmd_version.c \
	%D%/complete.c \
	%D%/complete.h \
	%D%/process.c \
	%D%/process.h

include src/cli/common/local.mk
include src/cli/compare/local.mk
include src/cli/detect/local.mk
include src/cli/diff/local.mk
include src/cli/health/local.mk
include src/cli/lint/local.mk
include src/cli/nccl/local.mk
include src/cli/paths/local.mk
include src/cli/page/local.mk
include src/cli/pick/local.mk
include src/cli/predict/local.mk
include src/cli/run/local.mk
include src/cli/search/local.mk
include src/cli/show/local.mk
include src/cli/steps/local.mk
include src/cli/tune/local.mk
include src/cli/verify/local.mk

EXTRA_DIST += %D%/README.md
