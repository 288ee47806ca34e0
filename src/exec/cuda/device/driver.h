/*
 * Memory as CUDA's driver knows it, for other processes: what cudaMalloc() made
 * has a handle, what cuMemMap() made is pieces with a file each, which may be
 * mapped elsewhere if whoever made them asked for it.  Pieces are made here,
 * too, where processes do not get at each other's handles.
 *
 * The driver's functions are found when they are first needed: nothing is
 * linked to it.  All is done for the current device.
 */
#ifndef GT_EXEC_CUDA_DRIVER_H
#define GT_EXEC_CUDA_DRIVER_H

#include <cuda_runtime_api.h>
#include <stdint.h>

struct gt_fd_packet;

struct gt_cuda_extent {
	const char *base;
	uint64_t bytes;
};

/* Pieces of memory that are mapped side by side; zeros: nothing is. */
struct gt_cuda_mapping {
	char *base;
	uint64_t bytes;    /* that are mapped */
	uint64_t reserved; /* addresses */
};

/*
 * Say how others get at memory that cudaMalloc() made, or that is mapped
 * pieces: by a handle, or by files.  *offset is how far behind the begin of
 * what they get the extent is.  cudaErrorNotSupported when it is of the other
 * kind, or more than GT_FD_PACKET_MAX pieces.
 */
cudaError_t gt_cuda_ipc_of(struct gt_cuda_extent extent,
			   cudaIpcMemHandle_t *handle, uint64_t *offset);
cudaError_t gt_cuda_files_of(struct gt_cuda_extent extent,
			     struct gt_fd_packet *pass, uint64_t *offset);

/*
 * Make a file by which other devices, such as network cards, reach memory that
 * cudaMalloc() made; it begins and ends with a page of the host.
 */
cudaError_t gt_cuda_dmabuf_of(struct gt_cuda_extent extent, int *fd);

/*
 * Let these devices of this process reach pieces; what cudaMalloc() made they
 * do anyhow.
 */
cudaError_t gt_cuda_allow(struct gt_cuda_extent extent, const int *devices,
			  uint32_t ndevices);

/*
 * Make a piece of memory of `device` that these devices of this process reach,
 * and others by its file; *map has zeros before.
 */
cudaError_t gt_cuda_mapping_new(int device, uint64_t bytes, const int *devices,
				uint32_t ndevices, struct gt_cuda_mapping *map);

/*
 * Map what the files stand for, for all these devices; *map has zeros before.
 */
cudaError_t gt_cuda_mapping_open(const struct gt_fd_packet *pass,
				 const int *devices, uint32_t ndevices,
				 struct gt_cuda_mapping *map);
void gt_cuda_mapping_drop(struct gt_cuda_mapping *map);

#endif
