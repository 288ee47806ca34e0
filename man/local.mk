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
	%D%/gtopo.7 \
	%D%/gtopo_allreduce.3 \
	%D%/gtopo_comm_create.3 \
	%D%/gtopo_comm_stream.3 \
	%D%/gtopo_group_start.3 \
	%D%/gtopo_op_create_premul.3 \
	%D%/gtopo_search.3 \
	%D%/gtopo_send.3 \
	%D%/gtopo_verify.3

# A page of section 3 is found by the name of each function that it is about.
gtopo_pages = $(filter %D%/gtopo_%.3,$(dist_man_MANS))
gtopo_names = $(SED) -n '/^\.SH NAME/ { n; s/ .-.*//; s/,//g; p; }'

install-data-local: install-man-names
install-man-names:
	$(MKDIR_P) '$(DESTDIR)$(man3dir)'
	$(AM_V_at)for page in $(gtopo_pages); do \
		page=$${page##*/}; \
		for name in `$(gtopo_names) '$(srcdir)'/man/$$page`; do \
			[ $$name.3 = $$page ] || echo ".so man3/$$page" \
				>'$(DESTDIR)$(man3dir)'/$$name.3 || exit 1; \
		done; \
	done
uninstall-local: uninstall-man-names
uninstall-man-names:
	rm -f '$(DESTDIR)$(man3dir)'/gtopo_*.3
.PHONY: install-man-names uninstall-man-names
