# one file a command; cmd.c holds the table, opt.c parses and prints help
gtopo_core_sources += \
	%D%/cmd.c %D%/cmd.def %D%/cmd.h \
	%D%/cmd_detect.c \
	%D%/detect_measure.c %D%/detect_measure.h \
	%D%/detect_ranks.c %D%/detect_ranks.h \
	%D%/detect_text.c %D%/detect_text.h \
	%D%/cmd_diff.c \
	%D%/diff_cluster.c %D%/diff_cluster.h \
	%D%/diff_cost.c %D%/diff_cost.h \
	%D%/diff_fleet.c %D%/diff_fleet.h \
	%D%/reference.c %D%/reference.h \
	%D%/cmd_export.c \
	%D%/cmd_fuse.c \
	%D%/cmd_health.c \
	%D%/gpu_match.c %D%/gpu_match.h \
	%D%/health_reach.c %D%/health_reach.h \
	%D%/cmd_help.c \
	%D%/cmd_import.c \
	%D%/cmd_lint.c \
	%D%/interrupt.c %D%/interrupt.h \
	%D%/lint_print.c %D%/lint_print.h \
	%D%/cmd_paths.c \
	%D%/paths_cluster.c %D%/paths_cluster.h \
	%D%/cmd_predict.c \
	%D%/cmd_run.c \
	%D%/cmd_search.c \
	%D%/search_cluster.c %D%/search_cluster.h \
	%D%/search_explain.c %D%/search_explain.h \
	%D%/search_explain_cluster.c %D%/search_explain_cluster.h \
	%D%/search_progress.c %D%/search_progress.h \
	%D%/search_uneven.c %D%/search_uneven.h \
	%D%/cmd_show.c \
	%D%/cmd_synth.c \
	%D%/cmd_tune.c \
	%D%/tune_sweep.c %D%/tune_sweep.h \
	%D%/tune_ways.c %D%/tune_ways.h \
	%D%/cmd_verify.c \
	%D%/cmd_version.c \
	%D%/verify_machine.c %D%/verify_machine.h \
	%D%/verify_verdict.c %D%/verify_verdict.h \
	%D%/opt.c %D%/opt.h %D%/opt_help.c \
	%D%/run_machine.c %D%/run_machine.h \
	%D%/run_trace.c %D%/run_trace.h \
	%D%/run_parse.c %D%/run_parse.h \
	%D%/show_plan.c %D%/show_plan.h \
	%D%/run_soak.c %D%/run_soak.h \
	%D%/run_sweep.c %D%/run_sweep.h \
	%D%/run_world.c %D%/run_world.h
