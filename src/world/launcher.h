/*
 * How this process was started, and so who the others are: a launcher's
 * variables, or PMIx.  In this order:
 *
 *   RANK, WORLD_SIZE (torchrun, or by hand), LOCAL_RANK, LOCAL_WORLD_SIZE,
 *     MASTER_ADDR, MASTER_PORT; under torchrun's agent, which owns
 *     MASTER_PORT, the port behind it
 *   PMIX_RANK: PMIx (Open MPI's and PRRTE's mpirun, srun --mpi=pmix), which
 *     carries address and secret
 *   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE: MASTER_ADDR, MASTER_PORT say
 *     where
 *   SLURM_PROCID, SLURM_NTASKS with a step: the step's first node, and a port
 *     made from job and step number
 *
 * Without PMIx the secret is GTOPO_SECRET, or what the file
 * GTOPO_SECRET_FILE holds.  GTOPO_SOCKET_IFNAME chooses interfaces.
 */
#ifndef GT_WORLD_LAUNCHER_H
#define GT_WORLD_LAUNCHER_H

#include <stdint.h>

#include "world/world.h"

struct gt_err;

struct gt_launcher_info {
	const char *by; /* "torchrun", "PMIx", "Open MPI", "Slurm"; NULL: this
			   process is alone */
	/* The process among those on this host; 0 of 0: that is not known. */
	uint32_t local_rank, local_size;
};

/*
 * Fill in *config: rank, size, name, address, listen_fd (process 0), secret.
 * timeout_ns is set by the caller.  A job of one process (size 1) has neither
 * address nor secret.  iface: NULL, or instead of the variable.
 * GT_EINPUT when variables are missing or make no sense, GT_ESYS when no
 * address can be had.
 */
int gt_launcher_find(const char *iface, struct gt_world_config *config,
		     struct gt_launcher_info *launch, struct gt_err *err);

/* Print "host, pid 12" of this process. */
void gt_launcher_process_name(char name[GT_WORLD_NAME_MAX]);

#endif
