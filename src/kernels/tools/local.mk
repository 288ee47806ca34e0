gtopo_core_sources += \
	%D%/fill.cu \
	%D%/ping.cu \
	%D%/trace.cu
