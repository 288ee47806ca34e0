# libnccl.so.2: NCCL's ABI on top of libgtopo
gtopo_core_sources += \
	%D%/abi.h \
	%D%/api_blocks.c \
	%D%/api_comm.c \
	%D%/api_end.c \
	%D%/api_info.c \
	%D%/api_memory.c \
	%D%/api_op.c \
	%D%/api_refused.c \
	%D%/backend.h \
	%D%/backend_lib.c \
	%D%/config.c \
	%D%/config.def \
	%D%/config.h \
	%D%/cuda.c \
	%D%/cuda.h \
	%D%/door.c \
	%D%/door.h \
	%D%/face.c \
	%D%/face.h \
	%D%/group.c \
	%D%/group.h \
	%D%/helper.c \
	%D%/helper.h \
	%D%/launch.c \
	%D%/launch.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/plan_cache.c \
	%D%/plan_cache.h \
	%D%/plan_search.c \
	%D%/plan_search.h \
	%D%/refused.def \
	%D%/say.c \
	%D%/say.h \
	%D%/task.c \
	%D%/task.h \
	%D%/team.c \
	%D%/team.h \
	%D%/uid.c \
	%D%/uid.h \
	%D%/uid_root.c \
	%D%/uid_root.h \
	%D%/values.c \
	%D%/values.h
if HAVE_CUDA
gtopo_core_sources += %D%/cuda_runtime.c
else
EXTRA_DIST += %D%/cuda_runtime.c
endif

# The functions of the ABI, and of the archive what these reach.  Its threads
# outlive whoever would unload it, and it calls its own functions even where
# another NCCL has come before it.
gtopo_nccl_so = libnccl.so.2
noinst_LIBRARIES += libgtopo_nccl.a
libgtopo_nccl_a_SOURCES = %D%/standard_files.c
if HAVE_VERBS
libgtopo_nccl_a_SOURCES += %D%/verbs_on_demand.c
else
EXTRA_DIST += %D%/verbs_on_demand.c
endif
libgtopo_nccl_a_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CFLAGS)
libgtopo_nccl_a_CFLAGS = $(AM_CFLAGS) -fPIC
gtopo_nccl_objects = \
	%D%/api_blocks.o \
	%D%/api_comm.o \
	%D%/api_end.o \
	%D%/api_info.o \
	%D%/api_memory.o \
	%D%/api_op.o \
	%D%/api_refused.o

$(gtopo_nccl_so): libgtopo_core.a libgtopo_nccl.a %D%/nccl.map
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) \
		-shared -Wl,-soname,$@ -Wl,--as-needed -Wl,-z,nodelete \
		-Wl,-Bsymbolic-functions \
		-Wl,--version-script,$(top_srcdir)/src/nccl/nccl.map \
		$(NCCL_WRAPS) -o $@ $(gtopo_nccl_objects) libgtopo_core.a \
		libgtopo_nccl.a $(NCCL_DEPENDENCIES) libgtopo_nccl.a $(CUDA_LIBS) $(LIBS)

all-local: $(gtopo_nccl_so)
CLEANFILES += $(gtopo_nccl_so)

# Where no program finds it by chance: whoever wants it says so.
install-exec-local: install-nccl
install-nccl: $(gtopo_nccl_so)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_PROGRAM) $(gtopo_nccl_so) \
		'$(DESTDIR)$(pkglibdir)/$(gtopo_nccl_so)'
uninstall-local: uninstall-nccl
uninstall-nccl:
	rm -f '$(DESTDIR)$(pkglibdir)/$(gtopo_nccl_so)'
.PHONY: install-nccl uninstall-nccl

EXTRA_DIST += %D%/README.md %D%/nccl.map
