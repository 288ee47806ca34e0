/* ABI: groups, versions, errors, and what else only tells something. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/group.h"
#include "nccl/say.h"

GT_NCCL_API(gt_nccl_result, ncclGetVersion, int *version)
{
	if (!version)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclGetVersion: version is NULL");
	*version = gt_say_version();
	return GT_NCCL_SUCCESS;
}

/* Programs and people look for these very words in logs. */
GT_NCCL_API(const char *, ncclGetErrorString, gt_nccl_result result)
{
	static const char internal[] =
		"internal error - please report this issue to the NCCL "
		"developers";
	static const char *const words[] = {
		"no error",
		"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
		"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		internal,
		"invalid argument (run with NCCL_DEBUG=WARN for details)",
		"invalid usage (run with NCCL_DEBUG=WARN for details)",
		"remote process exited or there was a network error",
		"NCCL operation in progress",
		"timeout",
	};

	return (unsigned)result < sizeof(words) / sizeof(*words)
		       ? words[result]
		       : "unknown result code";
}

GT_NCCL_API(const char *, ncclGetLastError, gt_nccl_comm comm)
{
	(void)comm;
	return gt_say_last();
}

GT_NCCL_API(gt_nccl_result, ncclGroupStart, void)
{
	gt_group_open();
	return GT_NCCL_SUCCESS;
}

GT_NCCL_API(gt_nccl_result, ncclGroupEnd, void)
{
	return gt_group_close("ncclGroupEnd");
}

/* The group ends and does not start; nobody can say how long it would take. */
GT_NCCL_API(gt_nccl_result, ncclGroupSimulateEnd, void *info)
{
	gt_nccl_result rc = gt_group_cancel("ncclGroupSimulateEnd");
	float unknown = -1;
	unsigned magic;

	if (rc || !info)
		return rc;
	memcpy(&magic, (char *)info + 8, sizeof(magic));
	if (magic != GT_NCCL_SIM_MAGIC)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclGroupSimulateEnd: the struct was not "
				    "set to NCCL_SIM_INFO_INITIALIZER");
	memcpy((char *)info + 16, &unknown, sizeof(unknown));
	return GT_NCCL_SUCCESS;
}

/* Teams of the device API: nobody here reaches another's memory. */
static gt_nccl_team gt_api_team(gt_nccl_comm comm, const char *call, int world)
{
	gt_nccl_team team = {1, 0, 1};
	struct gt_face *face;

	if (gt_face_get(comm, call, &face))
		return team;
	if (world)
		team = (gt_nccl_team){(int)face->size, (int)face->rank, 1};
	gt_face_put(face);
	return team;
}

GT_NCCL_API(gt_nccl_team, ncclTeamWorld, gt_nccl_comm comm)
{
	return gt_api_team(comm, "ncclTeamWorld", 1);
}

GT_NCCL_API(gt_nccl_team, ncclTeamLsa, gt_nccl_comm comm)
{
	return gt_api_team(comm, "ncclTeamLsa", 0);
}

GT_NCCL_API(gt_nccl_team, ncclTeamCft, gt_nccl_comm comm)
{
	return gt_api_team(comm, "ncclTeamCft", 0);
}

GT_NCCL_API(gt_nccl_team, ncclTeamCftMultimem, gt_nccl_comm comm)
{
	return gt_api_team(comm, "ncclTeamCftMultimem", 0);
}

GT_NCCL_API(gt_nccl_team, ncclTeamRail, gt_nccl_comm comm)
{
	return gt_api_team(comm, "ncclTeamRail", 1);
}

GT_NCCL_API(int, ncclTeamRankToWorld, gt_nccl_comm comm, gt_nccl_team team,
	    int rank)
{
	gt_nccl_team world = gt_api_team(comm, "ncclTeamRankToWorld", 1);

	return world.rank + (rank - team.rank) * team.stride;
}

GT_NCCL_API(int, ncclTeamRankToLsa, gt_nccl_comm comm, gt_nccl_team team,
	    int rank)
{
	(void)comm;
	return (rank - team.rank) * team.stride;
}

/*
 * The properties of NCCL 2.29 and later, of which a shorter struct gets what it
 * has room for: no device API, no multicast, no RDMA from GPUs.
 */
struct gt_api_properties {
	size_t size;
	unsigned magic, version;
	int rank, ranks, device, nvml_device;
	unsigned char device_api, multicast;
	int gin, lsa_teams;
	unsigned char host_rma;
	int railed_gin;
};

enum { GT_API_PROPERTIES_AT = 16 }; /* what a program does not fill in */

GT_NCCL_API(gt_nccl_result, ncclCommQueryProperties, gt_nccl_comm comm,
	    void *properties)
{
	static const char call[] = "ncclCommQueryProperties";
	struct gt_api_properties own = {0}, theirs;
	struct gt_face *face;
	gt_nccl_result rc = gt_face_get_ready(comm, call, &face);

	if (rc)
		return rc;
	own.rank = own.nvml_device = (int)face->rank;
	own.ranks = own.lsa_teams = (int)face->size;
	own.device = own.nvml_device = face->device;
	gt_face_put(face);
	if (properties)
		memcpy(&theirs, properties, GT_API_PROPERTIES_AT);
	if (!properties || theirs.magic != (unsigned)GT_NCCL_MAGIC ||
	    theirs.size < GT_API_PROPERTIES_AT)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: the struct was not set to "
				    "NCCL_COMM_PROPERTIES_INITIALIZER",
				    call);
	memcpy((char *)properties + GT_API_PROPERTIES_AT,
	       (char *)&own + GT_API_PROPERTIES_AT,
	       (theirs.size < sizeof(own) ? theirs.size : sizeof(own)) -
		       GT_API_PROPERTIES_AT);
	return GT_NCCL_SUCCESS;
}

/* There are no parameters that programs could read. */
GT_NCCL_API(gt_nccl_result, ncclParamGetAllParameterKeys, const char ***table,
	    int *count)
{
	static const char *none[] = {NULL};

	if (!table || !count)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclParamGetAllParameterKeys: there is no "
				    "place for the answer");
	*table = none;
	*count = 0;
	return GT_NCCL_SUCCESS;
}

GT_NCCL_API(void, ncclParamDumpAll, void)
{
}

/* The log is set up once; NCCL does nothing here either. */
GT_NCCL_API(void, ncclResetDebugInit, void)
{
}
