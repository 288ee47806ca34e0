# measurements: `make bench` writes bench.json, bench-search.json,
# bench-forest.json, bench-processes.json and bench-verbs.json and shows them
EXTRA_PROGRAMS += %D%/meter
%C%_meter_LDADD =

# from measured times to the parameters of `gtopo predict`
noinst_PROGRAMS += %D%/fit
%C%_fit_LDADD = $(gtopo_LDADD) -lm

# errors of sums, by ranks on CPUs
noinst_PROGRAMS += %D%/errors
%C%_errors_LDADD = $(gtopo_LDADD) -lm

# all-to-alls that are planned anew, beside straight ones, on hosts
noinst_PROGRAMS += %D%/experts
%C%_experts_SOURCES = %D%/experts.c %D%/quantile.c %D%/quantile.h
%C%_experts_LDADD = $(gtopo_LDADD) -lm

# The race needs GPUs to run, not to be built; it looks for NCCL by itself.
if HAVE_CUDA
noinst_PROGRAMS += %D%/beside %D%/ceiling %D%/messages %D%/overlap \
	%D%/vs-nccl %D%/vs-self
%C%_beside_SOURCES = %D%/beside.c %D%/beside.h %D%/beside_kernels.cu \
	%D%/blas.c %D%/blas.h %D%/quantile.c %D%/quantile.h
%C%_beside_LDADD = $(gtopo_LDADD)
%C%_ceiling_SOURCES = %D%/ceiling.c %D%/ceiling.h %D%/ceiling_kernels.cu \
	%D%/quantile.c %D%/quantile.h
%C%_ceiling_LDADD = $(gtopo_LDADD)
%C%_messages_LDADD = $(gtopo_LDADD)
%C%_vs_nccl_SOURCES = %D%/vs-nccl.c %D%/nccl.c %D%/nccl.h \
	%D%/graph.c %D%/graph.h %D%/quantile.c %D%/quantile.h
%C%_vs_nccl_LDADD = $(gtopo_LDADD)
%C%_vs_self_SOURCES = %D%/vs-self.c %D%/self.c %D%/self.h \
	%D%/quantile.c %D%/quantile.h
%C%_vs_self_LDADD = $(gtopo_LDADD)
%C%_overlap_SOURCES = %D%/overlap.c %D%/overlap.h %D%/overlap_check.c \
	%D%/overlap_job.c %D%/overlap_load.c %D%/overlap_model.c \
	%D%/overlap_options.c %D%/overlap_print.c \
	%D%/overlap_rank.c %D%/overlap_row.c %D%/overlap_way.c \
	%D%/blas.c %D%/blas.h %D%/graph.c %D%/graph.h \
	%D%/nccl.c %D%/nccl.h %D%/quantile.c %D%/quantile.h
%C%_overlap_LDADD = $(gtopo_LDADD)
endif

EXTRA_DIST += %D%/commands.sh %D%/demands.py %D%/experts.sh %D%/faults.sh \
	%D%/forest.sh \
	%D%/going.sh %D%/gloo-allreduce.cc \
	%D%/measure.sh %D%/mpi-allreduce.c %D%/no-peers.sh %D%/overlap.sh \
	%D%/pick.sh %D%/processes.sh %D%/routes.py %D%/search.sh %D%/staged.py \
	%D%/tuner.sh %D%/uneven.sh \
	%D%/verbs.sh %D%/verbs-vm.sh %D%/ways.sh \
	%D%/plot %D%/results

# docs/performance.md and its pictures, from the races in bench/results
performance:
	bash $(top_srcdir)/%D%/plot $(top_srcdir)/%D%/results \
		$(top_srcdir)/docs
.PHONY: performance

bench: gtopo$(EXEEXT) %D%/meter$(EXEEXT)
	$(AM_V_at)GTOPO='$(abs_top_builddir)/gtopo' METER=%D%/meter \
		GTOPO_SRC='$(abs_top_srcdir)' \
		bash $(top_srcdir)/%D%/commands.sh >bench.json.tmp
	$(AM_V_at)mv bench.json.tmp bench.json && cat bench.json
	$(AM_V_at)GTOPO='$(abs_top_builddir)/gtopo' METER=%D%/meter \
		GTOPO_SRC='$(abs_top_srcdir)' \
		bash $(top_srcdir)/%D%/search.sh >bench.json.tmp
	$(AM_V_at)mv bench.json.tmp bench-search.json && cat bench-search.json
	$(AM_V_at)GTOPO='$(abs_top_builddir)/gtopo' METER=%D%/meter \
		GTOPO_SRC='$(abs_top_srcdir)' \
		bash $(top_srcdir)/%D%/forest.sh >bench.json.tmp
	$(AM_V_at)mv bench.json.tmp bench-forest.json && cat bench-forest.json
	$(AM_V_at)GTOPO='$(abs_top_builddir)/gtopo' \
		GTOPO_SRC='$(abs_top_srcdir)' \
		bash $(top_srcdir)/%D%/processes.sh >bench.json.tmp
	$(AM_V_at)mv bench.json.tmp bench-processes.json && \
		cat bench-processes.json
	$(AM_V_at)GTOPO='$(abs_top_builddir)/gtopo' \
		bash $(top_srcdir)/%D%/verbs-vm.sh >bench.json.tmp
	$(AM_V_at)mv bench.json.tmp bench-verbs.json && cat bench-verbs.json
.PHONY: bench
CLEANFILES += bench.json bench-search.json bench-forest.json \
	bench-processes.json bench-verbs.json bench.json.tmp %D%/meter$(EXEEXT)
