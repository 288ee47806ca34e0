gtopo_core_sources += \
	%D%/block.cuh \
	%D%/schedule.cuh
