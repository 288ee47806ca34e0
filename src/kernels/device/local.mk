gtopo_core_sources += \
	%D%/block_reduce.cuh \
	%D%/flag.cuh \
	%D%/move.cuh \
	%D%/reduce.cuh \
	%D%/stage.cuh \
	%D%/total.cuh \
	%D%/type.cuh \
	%D%/wait.cuh
