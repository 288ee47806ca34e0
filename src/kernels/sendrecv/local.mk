gtopo_core_sources += \
	%D%/ll_message.cuh \
	%D%/pair_buffer.cuh \
	%D%/pieces.cuh \
	%D%/sendrecv.cu \
	%D%/sendrecv.cuh
