# one page a command, and the formats
dist_man_MANS += \
	%D%/gtopo-cluster.5 \
	%D%/gtopo-compare.1 \
	%D%/gtopo-detect.1 \
	%D%/gtopo-diff.1 \
	%D%/gtopo-exec.1 \
	%D%/gtopo-export.1 \
	%D%/gtopo-fuse.1 \
	%D%/gtopo-health.1 \
	%D%/gtopo-help.1 \
	%D%/gtopo-import.1 \
	%D%/gtopo-job.5 \
	%D%/gtopo-lint.1 \
	%D%/gtopo-nccl.1 \
	%D%/gtopo-page.1 \
	%D%/gtopo-paths.1 \
	%D%/gtopo-pick.1 \
	%D%/gtopo-report.5 \
	%D%/gtopo-predict.1 \
	%D%/gtopo-run.1 \
	%D%/gtopo-search.1 \
	%D%/gtopo-show.1 \
	%D%/gtopo-steps.1 \
	%D%/gtopo-synth.1 \
	%D%/gtopo-tune.1 \
	%D%/gtopo-plan.5 \
	%D%/gtopo-topology.5 \
	%D%/gtopo-verify.1 \
	%D%/gtopo.1 \
	%D%/gtopo.3 \
	%D%/gtopo.7
