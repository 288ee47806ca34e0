# libgtopo: include/gtopo.h on top of the engines, as a shared library
gtopo_core_sources += \
	%D%/alltoallv.c \
	%D%/answer.c \
	%D%/answer.h \
	%D%/batch.c \
	%D%/batch.h \
	%D%/collective.c \
	%D%/comm.c \
	%D%/detect.c \
	%D%/embed.h \
	%D%/group.c \
	%D%/job.c \
	%D%/job.h \
	%D%/launch.c \
	%D%/launch.h \
	%D%/message.c \
	%D%/message.h \
	%D%/operation.c \
	%D%/operation.h \
	%D%/parallel_copy.c \
	%D%/parallel_copy.h \
	%D%/queue.c \
	%D%/queue.h \
	%D%/redop.c \
	%D%/register.c \
	%D%/relays.c \
	%D%/relays.h \
	%D%/rounds.c \
	%D%/rounds.h \
	%D%/search.c \
	%D%/sendrecv.c \
	%D%/sendrecv_host.c \
	%D%/sendrecv_host.h \
	%D%/sendrecv_remote.c \
	%D%/sendrecv_remote.h \
	%D%/shrink.c \
	%D%/shrink.h \
	%D%/state.c \
	%D%/state.h \
	%D%/thread.c \
	%D%/verify.c

include_HEADERS = include/gtopo.h
EXTRA_DIST += %D%/gtopo.map

# What pkg-config and CMake find the library by.  They name its folders from
# where they lie themselves, so that an installed tree can be moved, and are made
# when it is installed, as a package may have other folders than configure was
# told.
gtopo_pkgconfigdir = $(libdir)/pkgconfig
gtopo_cmakedir = $(libdir)/cmake/gtopo
gtopo_found_by = %D%/gtopo.pc.in %D%/gtopo-config.cmake.in \
	%D%/gtopo-config-version.cmake.in
EXTRA_DIST += $(gtopo_found_by)

install-data-local: install-found-by
install-found-by:
	$(MKDIR_P) '$(DESTDIR)$(gtopo_pkgconfigdir)' \
		'$(DESTDIR)$(gtopo_cmakedir)'
	$(AM_V_at)up() { realpath -m --relative-to="$$1" "$$2"; }; \
	for file in $(gtopo_found_by); do \
		name=$${file##*/}; name=$${name%.in}; \
		case $$name in \
		*.pc) dir='$(gtopo_pkgconfigdir)' ;; \
		*) dir='$(gtopo_cmakedir)' ;; \
		esac; \
		$(SED) -e 's|@RELEASE@|$(PACKAGE_VERSION)|g' \
			-e "s|@PREFIX@|$$(up "$$dir" '$(prefix)')|g" \
			-e "s|@INCLUDE@|$$(up "$$dir" '$(includedir)')|g" \
			'$(top_srcdir)'/$$file >'$(DESTDIR)'"$$dir/$$name" || \
			exit 1; \
		chmod 644 '$(DESTDIR)'"$$dir/$$name"; \
	done
uninstall-local: uninstall-found-by
uninstall-found-by:
	rm -f '$(DESTDIR)$(gtopo_pkgconfigdir)/gtopo.pc'
	rm -rf '$(DESTDIR)$(gtopo_cmakedir)'
.PHONY: install-found-by uninstall-found-by

# The archive's objects are position independent; of them the library has what
# its own reach.  The number behind so is the ABI's.
gtopo_abi = 0
gtopo_so = libgtopo.so.$(gtopo_abi)
gtopo_so_objects = \
	%D%/answer.o \
	%D%/collective.o \
	%D%/comm.o \
	%D%/detect.o \
	%D%/group.o \
	%D%/job.o \
	%D%/launch.o \
	%D%/operation.o \
	%D%/parallel_copy.o \
	%D%/queue.o \
	%D%/redop.o \
	%D%/register.o \
	%D%/search.o \
	%D%/sendrecv.o \
	%D%/sendrecv_host.o \
	%D%/sendrecv_remote.o \
	%D%/shrink.o \
	%D%/state.o \
	%D%/thread.o \
	%D%/verify.o

# The solver is taken as a shared library here: its archives are for programs.
$(gtopo_so): libgtopo_core.a %D%/gtopo.map
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) \
		-shared -Wl,-soname,$@ -Wl,--as-needed \
		-Wl,--version-script,$(top_srcdir)/src/lib/gtopo.map \
		-o $@ $(gtopo_so_objects) libgtopo_core.a $(HWLOC_LIBS) \
		$(LIBXML2_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS) $(GMP_LIBS) \
		$(CLP_SHARED_LIBS) $(VERBS_LIBS) $(CUDA_LIBS) $(LIBS)

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
