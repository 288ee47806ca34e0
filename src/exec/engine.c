/* Finds an engine by its name, or the first that this machine can run. */
#include "exec/engine.h"

#include <config.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/ir/plan.h"

/* All engines, the best one first. */
static const struct gt_engine_ops *const gt_engines[] = {
#ifdef HAVE_CUDA
	&gt_engine_cuda,
#endif
	&gt_engine_host,
};

const struct gt_engine_ops *gt_engine_find(const char *name)
{
	for (size_t i = 0; i < sizeof(gt_engines) / sizeof(*gt_engines); i++)
		if (name ? !strcmp(gt_engines[i]->name, name)
			 : gt_engines[i]->usable())
			return gt_engines[i];
	return NULL;
}

const struct gt_engine_ops *gt_engine_find_in_child(void)
{
	const struct gt_engine_ops *ops = &gt_engine_host;
	pid_t child = fork();
	int status = 0;

	if (!child) {
		ops = gt_engine_find(NULL);
		_exit(ops && ops != &gt_engine_host ? 0 : 1);
	}
	if (child > 0 && waitpid(child, &status, 0) == child &&
	    WIFEXITED(status) && !WEXITSTATUS(status))
		ops = gt_engines[0];
	return ops;
}

int gt_exec_request_premultiplies(const struct gt_exec_request *req)
{
	return req->op == GT_REDOP_PREMUL && gt_coll_reduces(req->coll);
}
