# A simulation of RDMA devices, which is loaded before libibverbs: soft.h.
soft_verbs = %D%/soft.h %D%/soft_device.c %D%/soft_memory.c %D%/soft_wire.c
if HAVE_VERBS
check_DATA += %D%/libsoftverbs.so
%D%/libsoftverbs.so: $(soft_verbs)
	$(AM_V_CC)$(MKDIR_P) %D% && $(CC) -std=c17 -D_GNU_SOURCE \
		$(VERBS_CFLAGS) -O2 -g -fPIC -shared -pthread -o $@ \
		$(filter %.c,$^) -ldl
endif

MOSTLYCLEANFILES += %D%/libsoftverbs.so
EXTRA_DIST += $(soft_verbs)
