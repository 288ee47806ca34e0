/*
 * All-reduce of floats by Gloo over TCP on the loopback interface, to stand
 * beside gtopo run: two processes, prints "BYTES us" of the quickest of Gloo's
 * ways.  Gloo is not part of this project: bench/processes.sh builds this
 * against the system's, or the one installed where GLOO points to.
 *
 *   gloo-allreduce EMPTY-FOLDER BYTES ITERATIONS
 */
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

using Context = std::shared_ptr<gloo::Context>;

/* Older ones, such as Debian's, take the store itself, newer ones a pointer. */
template <class Full, class Store, class Device>
static auto mesh(Full &full, Store &store, Device &device, int)
	-> decltype(full.connectFullMesh(store, device))
{
	full.connectFullMesh(store, device);
}

template <class Full, class Store, class Device>
static auto mesh(Full &full, Store &store, Device &device, long)
	-> decltype(full.connectFullMesh(*store, device))
{
	full.connectFullMesh(*store, device);
}

static Context join(const char *folder, int rank)
{
	auto store = std::make_shared<gloo::rendezvous::FileStore>(folder);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, 2);
	gloo::transport::tcp::attr attr;

	attr.iface = "lo";
	attr.ai_family = AF_UNSPEC;
	auto device = gloo::transport::tcp::CreateDevice(attr);

	mesh(*context, store, device, 0);
	return context;
}

static double time_us(const Context &context, int iters,
		      const std::function<void()> &run)
{
	gloo::BarrierOptions barrier(context);

	for (int i = 0; i < iters / 5 + 1; i++)
		run();
	gloo::barrier(barrier);
	auto begin = std::chrono::steady_clock::now();
	for (int i = 0; i < iters; i++)
		run();
	std::chrono::duration<double, std::micro> took =
		std::chrono::steady_clock::now() - begin;
	return took.count() / iters;
}

static std::function<void()> by(const Context &context,
				gloo::AllreduceOptions::Algorithm algorithm,
				std::vector<float> &in, std::vector<float> &out)
{
	auto options = std::make_shared<gloo::AllreduceOptions>(context);

	options->setAlgorithm(algorithm);
	options->setInput(in.data(), in.size());
	options->setOutput(out.data(), out.size());
	options->setReduceFunction(
		[](void *a, const void *b, const void *c, size_t n) {
			gloo::sum<float>(a, b, c, n);
		});
	return [options] { gloo::allreduce(*options); };
}

static int run(const char *folder, int rank, size_t bytes, int iters)
{
	using Options = gloo::AllreduceOptions;
	Context context = join(folder, rank);
	std::vector<float> in(bytes / sizeof(float)), out(in.size());
	std::vector<float> own(in.size());
	gloo::AllreduceHalvingDoubling<float> halving(
		context, {own.data()}, static_cast<int>(own.size()));
	double best = std::min(
		{time_us(context, iters,
			 by(context, Options::Algorithm::RING, in, out)),
		 time_us(context, iters,
			 by(context, Options::Algorithm::BCUBE, in, out)),
		 time_us(context, iters, [&halving] { halving.run(); })});

	if (!rank)
		printf("%zu %.2f\n", bytes, best);
	/* Who hangs up while the other still reads has it thrown at that. */
	gloo::BarrierOptions barrier(context);
	gloo::barrier(barrier);
	usleep(100000);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t other;

	if (argc != 4)
		return 2;
	other = fork();
	if (other < 0)
		return 3;
	if (!other)
		return run(argv[1], 1, strtoul(argv[2], nullptr, 10),
			   atoi(argv[3]));
	run(argv[1], 0, strtoul(argv[2], nullptr, 10), atoi(argv[3]));
	waitpid(other, &status, 0);
	return status ? 3 : 0;
}
