# plans: model, JSON, lowering to programs, checks, simulation
gtopo_core_sources += \
	%D%/layout.c %D%/layout.h \
	%D%/lower.c %D%/lower.h \
	%D%/op.def \
	%D%/plan.c %D%/plan.h \
	%D%/print.c \
	%D%/program.h \
	%D%/simulate.h \
	%D%/step.c %D%/step.h
