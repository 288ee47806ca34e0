/* Threads as coroutines, and the clock (sim.h). */
#include "sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum {
	SIM_STACK_BYTES = 512 << 10,
	SIM_CALL_NS = 20000, /* at most, that a call takes */
};

struct sim_thread {
	ucontext_t context;
	uint32_t process;
	int alive, is_first, is_joined;
	struct sim_wait wait;
	void *(*body)(void *arg);
	void (*first)(void *arg);
	void *arg;
	void *fake_stack;
};

static struct {
	uint64_t random;
	int64_t now_ns;
	struct sim_process processes[SIM_PROCESSES];
	uint32_t nprocesses;
	struct sim_thread threads[SIM_THREADS];
	uint32_t nthreads;
	int running; /* the thread's number, or -1: the scheduler */
	ucontext_t scheduler;
	void *fake_stack;
	const void *bottom;
	size_t bytes;
} sim = {.running = -1};

static char *sim_stacks;

uint64_t sim_draw(uint64_t below)
{
	/* xorshift64*: what a world does must not depend on a C library. */
	sim.random ^= sim.random >> 12;
	sim.random ^= sim.random << 25;
	sim.random ^= sim.random >> 27;
	return (sim.random * 2685821657736338717ull >> 11) % below;
}

int64_t sim_now_ns(void)
{
	return sim.now_ns;
}

int sim_is_inside(void)
{
	return sim.running >= 0;
}

uint32_t sim_self(void)
{
	return sim.threads[sim.running].process;
}

struct sim_process *sim_process_of(uint32_t process)
{
	return &sim.processes[process];
}

void sim_begin(uint64_t seed)
{
	memset(&sim, 0, sizeof(sim));
	sim.random = (seed + 1) * 0x9e3779b97f4a7c15ull;
	sim.running = -1;
	sim.now_ns = 1000000000;
	if (!sim_stacks)
		sim_stacks = mmap(NULL, (size_t)SIM_THREADS * SIM_STACK_BYTES,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				  -1, 0);
	if (sim_stacks == MAP_FAILED)
		abort();
	for (int i = 0; i < 16; i++)
		sim_draw(2);
	sim_net_begin();
}

static void sim_switch_to_thread(struct sim_thread *to)
{
#ifdef __SANITIZE_ADDRESS__
	size_t at = (size_t)(to - sim.threads);

	__sanitizer_start_switch_fiber(&sim.fake_stack,
				       sim_stacks + at * SIM_STACK_BYTES,
				       SIM_STACK_BYTES);
#endif
	swapcontext(&sim.scheduler, &to->context);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(sim.fake_stack, NULL, NULL);
#endif
}

static void sim_switch_back(struct sim_thread *from, int is_last)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(is_last ? NULL : &from->fake_stack,
				       sim.bottom, sim.bytes);
#else
	(void)is_last;
#endif
	swapcontext(&from->context, &sim.scheduler);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(from->fake_stack, &sim.bottom,
					&sim.bytes);
#endif
}

static void sim_thread_main(void)
{
	struct sim_thread *me = &sim.threads[sim.running];

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &sim.bottom, &sim.bytes);
#endif
	if (me->is_first)
		me->first(me->arg);
	else
		me->body(me->arg);
	me->alive = 0;
	if (me->is_first)
		sim.processes[me->process].end = SIM_ENDED;
	sim_switch_back(me, 1);
}

/* Not inlined: getcontext() may return twice, where nothing may change. */
__attribute__((noinline)) static void sim_context(struct sim_thread *thread)
{
	getcontext(&thread->context);
	thread->context.uc_stack.ss_sp =
		sim_stacks + (size_t)(thread - sim.threads) * SIM_STACK_BYTES;
	thread->context.uc_stack.ss_size = SIM_STACK_BYTES;
	thread->context.uc_link = NULL;
	makecontext(&thread->context, sim_thread_main, 0);
}

/* A thread's place, or NULL: there are too many. */
static struct sim_thread *sim_place(void)
{
	struct sim_thread *thread = sim.threads;

	while (thread < sim.threads + sim.nthreads && !thread->is_joined)
		thread++;
	if (thread == sim.threads + SIM_THREADS)
		return NULL;
	if (thread == sim.threads + sim.nthreads)
		sim.nthreads++;
	return thread;
}

/* A thread's number, or -1: there are too many. */
static int sim_start(uint32_t process)
{
	struct sim_thread *const thread = sim_place();

	if (!thread)
		return -1;
	memset(thread, 0, sizeof(*thread));
	thread->process = process;
	thread->alive = 1;
	sim_context(thread);
	return (int)(thread - sim.threads);
}

uint32_t sim_add(void (*body)(void *arg), void *arg, uint32_t host)
{
	uint32_t process = sim.nprocesses++;
	int at = sim_start(process);

	sim.processes[process].host = host;
	sim.threads[at].is_first = 1;
	sim.threads[at].first = body;
	sim.threads[at].arg = arg;
	return process;
}

static void sim_leave(void)
{
	struct sim_thread *me = &sim.threads[sim.running];

	sim_switch_back(me, 0);
}

void sim_maybe_switch(void)
{
	sim.now_ns += (int64_t)sim_draw(SIM_CALL_NS);
	if (sim_draw(4))
		return;
	sim.threads[sim.running].wait =
		(struct sim_wait){.deadline_ns = sim.now_ns};
	sim_leave();
}

static int sim_is_over(const struct sim_wait *wait)
{
	return wait->is_over && wait->is_over(wait->arg);
}

int sim_wait(const struct sim_wait *wait)
{
	struct sim_thread *me = &sim.threads[sim.running];

	sim_maybe_switch();
	while (!sim_is_over(wait)) {
		if (sim.now_ns >= wait->deadline_ns)
			return 0;
		me->wait = *wait;
		sim_leave();
	}
	return 1;
}

static int sim_can_run(const struct sim_thread *thread)
{
	return thread->alive &&
	       sim.processes[thread->process].frozen_until_ns <= sim.now_ns &&
	       (thread->wait.deadline_ns <= sim.now_ns ||
		sim_is_over(&thread->wait));
}

/* Pick one of those that can run; -1: nobody can. */
static int sim_pick(void)
{
	uint32_t n = 0;
	int pick = -1;

	for (uint32_t i = 0; i < sim.nthreads; i++)
		if (sim_can_run(&sim.threads[i]) && !sim_draw(++n))
			pick = (int)i;
	return pick;
}

static int64_t sim_earlier(int64_t a, int64_t b)
{
	return b > sim.now_ns && b < a ? b : a;
}

/* Let the clock go on to what happens next; 0: nothing will. */
static int sim_pass_time(void)
{
	int64_t next_ns = sim_net_next_ns();

	if (next_ns <= sim.now_ns)
		next_ns = SIM_NEVER;
	for (uint32_t i = 0; i < sim.nthreads; i++) {
		const struct sim_thread *thread = &sim.threads[i];

		if (!thread->alive)
			continue;
		next_ns = sim_earlier(next_ns, thread->wait.deadline_ns);
		next_ns = sim_earlier(
			next_ns,
			sim.processes[thread->process].frozen_until_ns);
	}
	if (next_ns == SIM_NEVER)
		return 0;
	sim.now_ns = next_ns;
	return 1;
}

static int sim_is_idle(void)
{
	for (uint32_t i = 0; i < sim.nthreads; i++)
		if (sim.threads[i].alive)
			return 0;
	return 1;
}

static void sim_tell_stuck(char why[SIM_TEXT], const char *what)
{
	size_t at = (size_t)snprintf(why, SIM_TEXT, "%s after %.3f s:", what,
				     (double)sim.now_ns / 1e9 - 1);

	for (uint32_t i = 0; i < sim.nthreads && at < SIM_TEXT; i++)
		if (sim.threads[i].alive)
			at += (size_t)snprintf(why + at, SIM_TEXT - at,
					       " thread %u of process %u", i,
					       sim.threads[i].process);
}

static int sim_check_ends(char why[SIM_TEXT])
{
	for (uint32_t p = 0; p < sim.nprocesses; p++)
		if (sim.processes[p].end == SIM_ENDED && sim_net_open(p)) {
			snprintf(why, SIM_TEXT,
				 "process %u ended with %u files open", p,
				 sim_net_open(p));
			return -1;
		}
	return 0;
}

int sim_run(int64_t limit_ns, void (*each)(void *arg), void *arg,
	    char why[SIM_TEXT])
{
	int64_t end_ns = sim.now_ns + limit_ns;
	int next;

	for (; !sim_is_idle(); each(arg)) {
		if (sim.now_ns >= end_ns) {
			sim_tell_stuck(why, "not over");
			return -1;
		}
		next = sim_pick();
		if (next < 0 && !sim_pass_time()) {
			sim_tell_stuck(why, "all wait for ever");
			return -1;
		}
		if (next < 0)
			continue;
		sim.running = next;
		sim_switch_to_thread(&sim.threads[next]);
		sim.running = -1;
	}
	return sim_check_ends(why);
}

void sim_kill(uint32_t process, enum sim_end how)
{
	if (sim.processes[process].end != SIM_RUNS)
		return;
	sim.processes[process].end = how;
	for (uint32_t i = 0; i < sim.nthreads; i++)
		if (sim.threads[i].process == process)
			sim.threads[i].alive = 0;
	sim_net_end_of(process, how);
}

void sim_release(uint32_t n)
{
	for (uint32_t p = 0; p < n; p++)
		if (sim.processes[p].end == SIM_RUNS &&
		    sim.processes[p].frozen_until_ns != SIM_NEVER)
			return;
	for (uint32_t p = 0; p < n; p++)
		sim_kill(p, SIM_DARK);
}

int sim_reset(uint32_t process)
{
	return sim_net_reset(process);
}

/* Threads of the code under test: their numbers are pthread_t's. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*body)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*body)(void *), void *arg)
{
	int at = sim_start(sim_self());

	(void)attr;
	if (at < 0)
		return 11; /* EAGAIN */
	sim.threads[at].body = body;
	sim.threads[at].arg = arg;
	*thread = (pthread_t)at;
	sim_maybe_switch();
	return 0;
}

static int sim_has_ended(const void *thread)
{
	return !((const struct sim_thread *)thread)->alive;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	const struct sim_wait wait = {sim_has_ended, &sim.threads[thread],
				      SIM_NEVER};

	(void)result;
	sim_wait(&wait);
	sim.threads[thread].is_joined = 1;
	return 0;
}
