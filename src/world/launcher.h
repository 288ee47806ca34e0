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

/*
 * PMIx (pmix.c) is the launcher's own service (PMIx Standard 4).  It says who
 * this process is and carries process 0's address and secret to the others;
 * after that it is not needed any more.  The library is loaded when it is asked
 * for, so the program runs where there is none.
 *
 * Fill in *config as gt_launcher_find() does, and this process's place among
 * those of its host, 0 of 0 if that is not known.  GT_EINPUT when the program
 * was built without PMIx.
 */
int gt_pmix_find(const char *iface, struct gt_world_config *config,
		 uint32_t *local_rank, uint32_t *local_size,
		 struct gt_err *err);

/*
 * Without a launcher a process makes a job on this host (fork.c): it forks
 * `size` processes.  In each of them *parent is 0 and *config is filled in,
 * except timeout_ns: process 0 listens on the loopback interface, and the
 * secret was never outside.  In the caller *parent is 1 and all have ended, or
 * were killed as they did not within the time limit after another's failure:
 * GT_OK when all of them exited with 0, else the code of the highest status;
 * err has words about those that could say none.  SIGINT and SIGTERM are passed
 * on to them, the second kills them; they die with their parent.
 *
 * It must be called while the process has one thread.
 */
int gt_fork_job(uint32_t size, struct gt_world_config *config, int *parent,
		struct gt_err *err);

/* Print "host, pid 12" of this process. */
void gt_launcher_process_name(char name[GT_WORLD_NAME_MAX]);

#endif
