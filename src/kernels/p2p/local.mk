gtopo_core_sources += \
	%D%/barrier.cu \
	%D%/direct.cuh \
	%D%/fragment_sum.cuh \
	%D%/gather.cuh \
	%D%/group.cu \
	%D%/group.cuh \
	%D%/ll_line.cuh \
	%D%/packet.cuh \
	%D%/premul.cuh \
	%D%/scratch_reduce.cuh \
	%D%/scratch_reduce_group.cuh
