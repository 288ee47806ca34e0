# Whole jobs in a simulated system, each of one seed: sim.h.
check_PROGRAMS += %D%/sim_world
%C%_sim_world_SOURCES = %D%/sim.h %D%/sched.c %D%/net.c %D%/wrap.c \
	%D%/fault.h %D%/fault.c
%C%_sim_world_SOURCES += %D%/seeds.c %D%/world.c
%C%_sim_world_LDADD = $(gtopo_LDADD)
check_PROGRAMS += %D%/sim_going
%C%_sim_going_SOURCES = %D%/sim.h %D%/sched.c %D%/net.c %D%/wrap.c \
	%D%/fault.h %D%/fault.c
%C%_sim_going_SOURCES += %D%/seeds.c %D%/ring.h %D%/ring.c %D%/going.c
%C%_sim_going_LDADD = $(gtopo_LDADD)
check_PROGRAMS += %D%/sim_links
%C%_sim_links_SOURCES = %D%/sim.h %D%/sched.c %D%/net.c %D%/wrap.c \
	%D%/fault.h %D%/fault.c
%C%_sim_links_SOURCES += %D%/seeds.c %D%/wrap_link.c %D%/ring.h %D%/ring.c
%C%_sim_links_SOURCES += %D%/links.c
%C%_sim_links_LDADD = $(gtopo_LDADD)
check_PROGRAMS += %D%/sim_library
%C%_sim_library_SOURCES = %D%/sim.h %D%/sched.c %D%/net.c %D%/wrap.c \
	%D%/fault.h %D%/fault.c
%C%_sim_library_SOURCES += %D%/seeds.c %D%/wrap_link.c %D%/ring.h %D%/ring.c
%C%_sim_library_SOURCES += %D%/library.c
%C%_sim_library_LDADD = $(gtopo_LDADD)
sim_wrap = -Wl,--wrap=socket,--wrap=eventfd,--wrap=bind,--wrap=listen
sim_wrap += -Wl,--wrap=accept,--wrap=connect,--wrap=poll,--wrap=read
sim_wrap += -Wl,--wrap=write,--wrap=recv,--wrap=send,--wrap=shutdown
sim_wrap += -Wl,--wrap=close,--wrap=fcntl,--wrap=setsockopt
sim_wrap += -Wl,--wrap=getsockopt,--wrap=getsockname,--wrap=getpeername
sim_wrap += -Wl,--wrap=getrandom,--wrap=clock_gettime,--wrap=nanosleep
sim_wrap += -Wl,--wrap=pthread_create,--wrap=pthread_join
sim_wrap += -Wl,--wrap=pthread_mutex_lock,--wrap=pthread_mutex_unlock
sim_wrap += -Wl,--wrap=pthread_cond_wait,--wrap=pthread_cond_timedwait
sim_wrap += -Wl,--wrap=pthread_cond_broadcast,--wrap=pthread_cond_init
sim_wrap += -Wl,--wrap=pthread_cond_destroy
%C%_sim_world_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
%C%_sim_going_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
sim_wrap_link = -Wl,--wrap=sendmsg,--wrap=recvmsg,--wrap=syscall
sim_wrap_link += -Wl,--wrap=sched_yield,--wrap=sched_getaffinity
sim_wrap_link += -Wl,--wrap=pthread_cond_signal,--wrap=getifaddrs
sim_wrap_link += -Wl,--wrap=freeifaddrs,--wrap=getenv
%C%_sim_links_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap) $(sim_wrap_link)
%C%_sim_library_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap) $(sim_wrap_link)

cli_tests += %D%/worlds.sh
