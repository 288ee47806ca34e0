# plans to bytes moved: the engine table, the host engine, the reduce loops
gtopo_core_sources += \
	%D%/bell.c %D%/bell.h \
	%D%/bundle.c %D%/bundle.h \
	%D%/engine.c %D%/engine.h \
	%D%/fifo.c %D%/fifo.h \
	%D%/host.h \
	%D%/host_data.c \
	%D%/host_engine.c \
	%D%/host_lanes.c \
	%D%/host_memory.c \
	%D%/host_rank.c \
	%D%/host_step.c \
	%D%/host_watch.c \
	%D%/group.c %D%/group.h \
	%D%/link.c %D%/link.h \
	%D%/link_null.c \
	%D%/link_shm.c \
	%D%/link_trace.c \
	%D%/mirror.c %D%/mirror.h \
	%D%/pass.c %D%/pass.h \
	%D%/link_tcp.c %D%/tcp.h %D%/tcp_proxy.c \
	%D%/tcp_lend.c %D%/tcp_receive.c %D%/tcp_send.c %D%/tcp_share.c \
	%D%/rail.c %D%/rail.h \
	%D%/reduce.c %D%/reduce.h \
	%D%/reduce_avx2.c \
	%D%/reduce_loops.h \
	%D%/reduce_plain.c \
	%D%/trace.c %D%/trace.h \
	%D%/trace_flow.c %D%/trace_flow.h \
	%D%/trace_gather.c \
	%D%/trace_marks.c %D%/trace_marks.h \
	%D%/share.c %D%/share.h

if HAVE_VERBS
gtopo_core_sources += \
	%D%/link_verbs.c %D%/verbs.h %D%/verbs_direct.c %D%/verbs_event.c \
	%D%/verbs_port.c %D%/verbs_proxy.c %D%/verbs_qp.c
endif

if HAVE_CUDA
gtopo_core_sources += \
	%D%/cuda_async.c \
	%D%/cuda_blame.c \
	%D%/cuda_carry.c \
	%D%/cuda_ce.c \
	%D%/cuda_choose.c \
	%D%/cuda_detour.c %D%/cuda_detour.h \
	%D%/cuda_detour_room.c \
	%D%/cuda_driver.c %D%/cuda_driver.h \
	%D%/cuda_engine.c %D%/cuda_engine.h \
	%D%/cuda_exchange.c \
	%D%/cuda_flow.c \
	%D%/cuda_group.c \
	%D%/cuda_lend.c %D%/cuda_lend.h \
	%D%/cuda_loan.c \
	%D%/cuda_map.c \
	%D%/cuda_run.c \
	%D%/cuda_scale.c \
	%D%/cuda_program.c \
	%D%/cuda_push.c \
	%D%/cuda_pushes.c \
	%D%/cuda_room.c \
	%D%/cuda_task.c \
	%D%/cuda_trace.c \
	%D%/cuda_way.c \
	%D%/cuda_world.c
endif
