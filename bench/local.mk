# measurements: `make bench` writes bench.json and shows it
EXTRA_PROGRAMS += %D%/meter
%C%_meter_LDADD =
EXTRA_DIST += %D%/commands.sh

bench: gtopo$(EXEEXT) %D%/meter$(EXEEXT)
	$(AM_V_at)GTOPO='$(abs_top_builddir)/gtopo' METER=%D%/meter \
		GTOPO_SRC='$(abs_top_srcdir)' \
		bash $(top_srcdir)/%D%/commands.sh >bench.json.tmp
	$(AM_V_at)mv bench.json.tmp bench.json && cat bench.json
.PHONY: bench
CLEANFILES += bench.json bench.json.tmp %D%/meter$(EXEEXT)
