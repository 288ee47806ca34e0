# the processes of a job: launchers, rendezvous, exchange; knows no plans
gtopo_core_sources += \
	%D%/allgather.c \
	%D%/auth.c \
	%D%/auth.h \
	%D%/children.c \
	%D%/children.h \
	%D%/close_on_fork.c \
	%D%/close_on_fork.h \
	%D%/door.c \
	%D%/failure.c \
	%D%/fork.c \
	%D%/internal.h \
	%D%/knock.c \
	%D%/knock.h \
	%D%/launcher.c \
	%D%/launcher.h \
	%D%/listener.c \
	%D%/listener.h \
	%D%/loop.c \
	%D%/net.c \
	%D%/net.h \
	%D%/open.c \
	%D%/pmix.c \
	%D%/regroup.c \
	%D%/regroup.h \
	%D%/regroup_door.c \
	%D%/regroup_follow.c \
	%D%/regroup_lead.c \
	%D%/root.c \
	%D%/state.c \
	%D%/wire.c \
	%D%/wire.h \
	%D%/world.h

EXTRA_DIST += %D%/README.md
