# libgtopo: include/gtopo.h on top of the engines, as a shared library
gtopo_core_sources += \
	%D%/collective.c \
	%D%/comm.c \
	%D%/embed.h \
	%D%/group.c \
	%D%/job.c \
	%D%/job.h \
	%D%/launch.c \
	%D%/launch.h \
	%D%/operation.c \
	%D%/operation.h \
	%D%/parallel_copy.c \
	%D%/parallel_copy.h \
	%D%/queue.c \
	%D%/queue.h \
	%D%/redop.c \
	%D%/register.c \
	%D%/sendrecv.c \
	%D%/sendrecv_host.c \
	%D%/sendrecv_host.h \
	%D%/sendrecv_remote.c \
	%D%/sendrecv_remote.h \
	%D%/shrink.c \
	%D%/shrink.h \
	%D%/state.c \
	%D%/state.h \
	%D%/thread.c

include_HEADERS = include/gtopo.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = gtopo.pc
EXTRA_DIST += %D%/gtopo.map

# The archive's objects are position independent; of them the library has what
# its own reach.  The number behind so is the ABI's.
gtopo_abi = 0
gtopo_so = libgtopo.so.$(gtopo_abi)
gtopo_so_objects = \
	%D%/collective.o \
	%D%/comm.o \
	%D%/group.o \
	%D%/job.o \
	%D%/launch.o \
	%D%/operation.o \
	%D%/parallel_copy.o \
	%D%/queue.o \
	%D%/redop.o \
	%D%/register.o \
	%D%/sendrecv.o \
	%D%/sendrecv_host.o \
	%D%/sendrecv_remote.o \
	%D%/shrink.o \
	%D%/state.o \
	%D%/thread.o

$(gtopo_so): libgtopo_core.a %D%/gtopo.map
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) \
		-shared -Wl,-soname,$@ -Wl,--as-needed \
		-Wl,--version-script,$(top_srcdir)/src/lib/gtopo.map \
		-o $@ $(gtopo_so_objects) libgtopo_core.a $(JANSSON_LIBS) \
		$(CRYPTO_LIBS) $(GMP_LIBS) $(VERBS_LIBS) $(CUDA_LIBS) $(LIBS)

libgtopo.so: $(gtopo_so)
	$(AM_V_at)ln -sf $(gtopo_so) $@

all-local: libgtopo.so
CLEANFILES += libgtopo.so $(gtopo_so)

install-exec-local: $(gtopo_so)
	$(MKDIR_P) '$(DESTDIR)$(libdir)'
	$(INSTALL_PROGRAM) $(gtopo_so) '$(DESTDIR)$(libdir)/$(gtopo_so)'
	ln -sf $(gtopo_so) '$(DESTDIR)$(libdir)/libgtopo.so'

uninstall-local:
	rm -f '$(DESTDIR)$(libdir)/$(gtopo_so)' \
		'$(DESTDIR)$(libdir)/libgtopo.so'

# What a user of the library writes, built as a user builds it.
check_PROGRAMS += examples/neighbours examples/one-thread \
	examples/process-per-rank \
	examples/thread-per-rank
examples_neighbours_LDADD = libgtopo.so
examples_neighbours_CPPFLAGS = -I$(top_srcdir)/include
examples_one_thread_LDADD = libgtopo.so
examples_process_per_rank_LDADD = libgtopo.so
examples_process_per_rank_CPPFLAGS = -I$(top_srcdir)/include
examples_thread_per_rank_LDADD = libgtopo.so
examples_one_thread_CPPFLAGS = -I$(top_srcdir)/include
if HAVE_CUDA
check_PROGRAMS += examples/gpu-streams examples/process-per-gpu
examples_process_per_gpu_LDADD = libgtopo.so $(CUDA_LIBS)
examples_process_per_gpu_CPPFLAGS = -I$(top_srcdir)/include $(CUDA_CPPFLAGS)
examples_gpu_streams_LDADD = libgtopo.so $(CUDA_LIBS)
examples_gpu_streams_CPPFLAGS = -I$(top_srcdir)/include $(CUDA_CPPFLAGS)
else
EXTRA_DIST += examples/gpu-streams.c examples/process-per-gpu.c
endif
examples_thread_per_rank_CPPFLAGS = -I$(top_srcdir)/include

EXTRA_DIST += %D%/README.md
