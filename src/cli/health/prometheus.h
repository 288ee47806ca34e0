/*
 * What `gtopo health` found as metrics in the text format of Prometheus, for
 * the textfile collector of node_exporter; gtopo-health(1) lists them.
 */
#ifndef GT_CLI_HEALTH_PROMETHEUS_H
#define GT_CLI_HEALTH_PROMETHEUS_H

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_topo;

/*
 * Append the metrics of what --json writes and of the machine.  Findings of one
 * device that have the same rule are one metric, which counts them.
 */
int gt_prometheus(const struct gt_buf *json, const struct gt_topo *topo,
		  struct gt_arena *arena, struct gt_buf *out,
		  struct gt_err *err);

#endif
