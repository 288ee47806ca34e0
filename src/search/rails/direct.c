/* How long blocks take that go straight from rank to rank, for comparison. */
#include "search/rails/rails.h"

#include <string.h>

#include "base/rat.h"
#include "search/problem/fabric.h"

/* What a byte of the route fills of each of its links. */
static void add_route(const struct gt_fabric *f,
		      const struct gt_fabric_route *route, double bytes,
		      double *link_bytes)
{
	double charge = gt_rat_double(route->charge);

	for (uint32_t h = 0; h < route->nlinks; h++) {
		uint32_t link = route->links[h];

		link_bytes[link] +=
			f->links[link].charged ? bytes * charge : bytes;
	}
}

double gt_rails_direct_ns(const struct gt_rails *m, const uint64_t *bytes,
			  struct gt_rails_schedule *schedule)
{
	const struct gt_fabric *f = m->fabric;
	double *link_bytes = schedule->link_bytes, most = 0;

	memset(link_bytes, 0, f->nlinks * sizeof(*link_bytes));
	for (uint32_t i = 0; i < m->n * m->n; i++)
		if (bytes[i] && i / m->n != i % m->n)
			add_route(f, &f->routes[i], (double)bytes[i],
				  link_bytes);
	for (uint32_t i = 0; i < f->nlinks; i++) {
		double ns =
			link_bytes[i] > 0
				? link_bytes[i] / gt_rat_double(f->links[i].gbs)
				: 0;

		if (ns > most)
			most = ns;
	}
	return most;
}
