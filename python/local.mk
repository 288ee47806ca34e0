# The module on libgtopo, which is found when it is imported; nothing of it is
# compiled.
if HAVE_PYTHON
gtopopythondir = $(pythondir)/gtopo
dist_gtopopython_DATA = \
	%D%/gtopo/__init__.py \
	%D%/gtopo/_comm.py \
	%D%/gtopo/_library.py
else
EXTRA_DIST += %D%/gtopo/__init__.py %D%/gtopo/_comm.py %D%/gtopo/_library.py
endif
EXTRA_DIST += %D%/README.md
