# what is installed beside the program
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = %D%/completion/gtopo
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = %D%/completion/_gtopo
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = %D%/completion/gtopo.fish

# reference machines, written from public facts
xmldir = $(pkgdatadir)/xml
dist_xml_DATA = \
	%D%/xml/2x-dgx-a100.xml \
	%D%/xml/2x-dgx-h100.xml \
	%D%/xml/2x-dgx-spark.xml \
	%D%/xml/3x-dgx-spark.xml \
	%D%/xml/4x-dgx-h100.xml \
	%D%/xml/4x-dgx-spark.xml \
	%D%/xml/4x-mi300x.xml \
	%D%/xml/dgx-1v.xml \
	%D%/xml/dgx-2.xml \
	%D%/xml/dgx-a100.xml \
	%D%/xml/dgx-b200.xml \
	%D%/xml/dgx-h100.xml \
	%D%/xml/dgx-spark.xml \
	%D%/xml/dgx-superpod-h100.xml \
	%D%/xml/gb200-nvl72.xml \
	%D%/xml/gb200-tray.xml \
	%D%/xml/h200-vm-4.xml \
	%D%/xml/hgx-h200.xml \
	%D%/xml/l40s-8gpu-vm.xml \
	%D%/xml/mi250x.xml \
	%D%/xml/mi300x.xml \
	%D%/xml/mixed-h100-a100.xml \
	%D%/xml/pcie-8gpu.xml \
	%D%/xml/rtx3090-2gpu.xml \
	%D%/xml/rtx4090-8gpu.xml \
	%D%/xml/rtx5090-4gpu.xml \
	%D%/xml/workstation-4gpu.xml

# what topologies, plans and reports are checked against
schemadir = $(pkgdatadir)/schema
dist_schema_DATA = \
	%D%/schema/gtopo-cluster.rng \
	%D%/schema/gtopo-topology.rng \
	%D%/schema/comparison-1.schema.json \
	%D%/schema/diff-1.schema.json \
	%D%/schema/health-1.schema.json \
	%D%/schema/job-1.schema.json \
	%D%/schema/lint-1.schema.json \
	%D%/schema/machine-1.schema.json \
	%D%/schema/nccl-1.schema.json \
	%D%/schema/nccl-graph-1.schema.json \
	%D%/schema/nccl-log-1.schema.json \
	%D%/schema/pick-1.schema.json \
	%D%/schema/plan-1.schema.json \
	%D%/schema/report-1.schema.json \
	%D%/schema/verdict-1.schema.json

# what uses gtopo on a fleet: Slurm, node health check, Prometheus, Grafana
fleetdir = $(pkgdatadir)/fleet
dist_fleet_DATA = \
	%D%/fleet/README.md \
	%D%/fleet/grafana-dashboard.json \
	%D%/fleet/gtopo-health.service \
	%D%/fleet/gtopo-health.timer \
	%D%/fleet/gtopo.nhc \
	%D%/fleet/prometheus-rules.yml
dist_fleet_SCRIPTS = \
	%D%/fleet/slurm-healthcheck.sh \
	%D%/fleet/slurm-prolog.sh
