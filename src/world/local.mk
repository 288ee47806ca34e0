# the processes of a job: launchers, rendezvous, meetings; knows no plans
gtopo_core_sources += \
	%D%/auth.c %D%/auth.h \
	%D%/door.c %D%/door.h \
	%D%/fork.c %D%/fork.h \
	%D%/inside.h \
	%D%/launch.c %D%/launch.h \
	%D%/loop.c \
	%D%/net.c %D%/net.h \
	%D%/pmix.c %D%/pmix.h \
	%D%/root.c \
	%D%/wire.c %D%/wire.h \
	%D%/world.c %D%/world.h
