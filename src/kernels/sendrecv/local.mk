gtopo_core_sources += \
	%D%/desk.cuh \
	%D%/exchange.cu \
	%D%/exchange.cuh \
	%D%/letter.cuh \
	%D%/piece.cuh
