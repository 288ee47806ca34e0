/*
 * What happens to kernels and copies beside matrix products, and to these, on
 * one GPU: how long each takes alone, how long beside them, and what it adds.
 *
 *   beside [FILTER]      only what has the text in its name
 *
 * Twelve products of 8192 x 8192 x 8192 bf16 are put on a stream (cuBLAS, found
 * at run time), and items one after another on another one while they run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/beside.h"
#include "bench/blas.h"
#include "bench/quantile.h"

enum {
	SIDE = 8192,
	PRODUCTS = 12,
	ROUNDS = 5,
	ALONE = 9,
	ITEMS = 60, /* beside the products of a round, at most */
	WAIT_NS = 1000000,
	PAUSE_NS = 137000,
	KEPT = GT_QUANTILE_MOST,
};

#define MIB         (UINT64_C(1) << 20)
#define LARGE_BYTES (128 * MIB)

enum kind { WAIT, ADD, COPY, TO_HOST, KINDS };

struct item {
	enum kind kind;
	struct beside_grid grid;
	enum beside_size size;
	uint64_t ns, bytes;
};

static struct {
	struct gt_blas *blas;
	struct gt_blas_product product;
	cudaStream_t products;
	cudaEvent_t begin[2], end[2]; /* of products, of an item */
	void *large[3], *host;
	float *at;
} bench;

static void must(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "beside: cannot %s: %s\n", what,
		cudaGetErrorString(rc));
	exit(3);
}

static void pause_ns(long ns)
{
	const struct timespec some = {0, ns};

	nanosleep(&some, NULL);
}

static void products_put(void)
{
	must(cudaEventRecord(bench.begin[0], bench.products), "record");
	for (int i = 0; i < PRODUCTS; i++) {
		int code = gt_blas_run(bench.blas, &bench.product);

		if (code) {
			fprintf(stderr, "beside: cannot multiply: %s\n",
				gt_blas_words(bench.blas, code));
			exit(3);
		}
	}
	must(cudaEventRecord(bench.end[0], bench.products), "record");
}

static int products_run(void)
{
	return cudaEventQuery(bench.end[0]) == cudaErrorNotReady;
}

static double products_ms(void)
{
	float ms;

	must(cudaStreamSynchronize(bench.products), "multiply");
	must(cudaEventElapsedTime(&ms, bench.begin[0], bench.end[0]), "time");
	return ms;
}

static cudaError_t item_put(const struct item *item)
{
	switch (item->kind) {
	case WAIT:
		return gt_beside_wait(&item->grid, item->size, bench.at,
				      item->ns);
	case ADD:
		return gt_beside_add(&item->grid, bench.large, item->bytes);
	case COPY:
		return cudaMemcpyAsync(bench.large[1], bench.large[0],
				       item->bytes, cudaMemcpyDeviceToDevice,
				       item->grid.stream);
	default:
		return cudaMemcpyAsync(bench.host, bench.large[0], item->bytes,
				       cudaMemcpyDeviceToHost,
				       item->grid.stream);
	}
}

static double item_us(const struct item *item)
{
	cudaStream_t stream = item->grid.stream;
	float ms;

	must(cudaEventRecord(bench.begin[1], stream), "record");
	must(item_put(item), "launch");
	must(cudaEventRecord(bench.end[1], stream), "record");
	must(cudaStreamSynchronize(stream), "run an item");
	must(cudaEventElapsedTime(&ms, bench.begin[1], bench.end[1]), "time");
	return ms * 1e3;
}

/* Put items beside products until these end; the number of those in time. */
static uint32_t items_beside(const struct item *item, double *us)
{
	uint32_t n = 0;

	products_put();
	pause_ns(PAUSE_NS);
	while (n < ITEMS && products_run()) {
		double one = item_us(item);

		if (products_run())
			us[n++] = one;
		pause_ns(PAUSE_NS);
	}
	return n;
}

static void item_print(const struct item *item, const char *name)
{
	double alone[ALONE], with[ROUNDS], without[ROUNDS], us[KEPT];
	uint32_t kept = 0, all = 0, n;
	double round[ITEMS], added;

	item_us(item);
	for (int i = 0; i < ALONE; i++)
		alone[i] = item_us(item);
	for (int r = 0; r < ROUNDS; r++) {
		products_put();
		without[r] = products_ms();
		n = items_beside(item, round);
		with[r] = products_ms();
		all += n;
		for (uint32_t i = 0; i < n && kept < KEPT; i++)
			us[kept++] = round[i];
	}
	added = gt_quantile(with, ROUNDS, 0.5) -
		gt_quantile(without, ROUNDS, 0.5);
	printf("%-40s %9.1f %9.1f %9.1f %5u %8.3f %8.3f %9.1f\n", name,
	       gt_quantile(alone, ALONE, 0.5),
	       kept ? gt_quantile(us, kept, 0.5) : -1,
	       kept ? gt_quantile(us, kept, 0.95) : -1, all / ROUNDS,
	       gt_quantile(without, ROUNDS, 0.5),
	       gt_quantile(with, ROUNDS, 0.5),
	       all ? added * 1e3 * ROUNDS / all : 0);
	fflush(stdout);
}

static void item_name(const struct item *item, int high, char name[64])
{
	static const char *const kinds[KINDS] = {"begins and ends", "adds",
						 "copy within the GPU",
						 "copy to the host"};
	char what[48] = "";

	if (item->kind == WAIT)
		snprintf(what, sizeof(what), " %ux%u, %d registers",
			 item->grid.blocks, item->grid.threads,
			 gt_beside_registers(item->size));
	else if (item->kind == ADD)
		snprintf(what, sizeof(what), " %ux%u", item->grid.blocks,
			 item->grid.threads);
	if (item->bytes)
		snprintf(what + strlen(what), sizeof(what) - strlen(what),
			 ", %d MiB", (int)(item->bytes / MIB));
	snprintf(name, 64, "%s%s%s", high ? "high: " : "",
		 item->ns ? "waits 1 ms" : kinds[item->kind], what);
}

static void *device_new(size_t bytes)
{
	void *at;

	must(cudaMalloc(&at, bytes), "allocate");
	must(cudaMemset(at, 0, bytes), "clear memory");
	return at;
}

/* Matrices of small numbers: products of zeros take less power. */
static void *matrix_new(void)
{
	size_t n = (size_t)SIDE * SIDE;
	uint16_t *values = malloc(n * sizeof(*values));
	void *at = device_new(n * sizeof(*values));

	if (!values)
		must(cudaErrorMemoryAllocation, "make a matrix");
	for (size_t i = 0; i < n; i++) /* bf16: a sign, an exponent near 1 */
		values[i] = (uint16_t)(0x3e00 | (rand() & 0x81ff));
	must(cudaMemcpy(at, values, n * sizeof(*values),
			cudaMemcpyHostToDevice),
	     "copy a matrix");
	free(values);
	return at;
}

static int bench_open(void)
{
	must(cudaStreamCreateWithFlags(&bench.products, cudaStreamNonBlocking),
	     "make a stream");
	bench.blas = gt_blas_open(bench.products);
	if (!bench.blas)
		return 0;
	bench.product = (struct gt_blas_product){.a = matrix_new(),
						 .b = matrix_new(),
						 .c = matrix_new(),
						 .m = SIDE,
						 .n = SIDE,
						 .k = SIDE};
	for (int i = 0; i < 3; i++)
		bench.large[i] = device_new(LARGE_BYTES);
	must(cudaMallocHost(&bench.host, LARGE_BYTES), "allocate");
	bench.at = device_new(8 << 10);
	for (int i = 0; i < 2; i++) {
		must(cudaEventCreate(&bench.begin[i]), "make an event");
		must(cudaEventCreate(&bench.end[i]), "make an event");
	}
	products_put();
	products_ms();
	return 1;
}

static void show(struct item item, int high, const char *filter)
{
	char name[64];

	item_name(&item, high, name);
	if (strstr(name, filter))
		item_print(&item, name);
}

static void show_stream(cudaStream_t stream, int high, const char *filter)
{
	static const uint32_t shapes[][2] = {{1, 32},   {16, 32},  {132, 32},
					     {1, 512},  {16, 512}, {32, 512},
					     {132, 512}};
	static const uint32_t blocks[] = {1, 4, 8, 16, 32, 132};
	static const uint64_t sizes[] = {MIB, 16 * MIB, LARGE_BYTES};
	struct item item = {.grid = {.stream = stream}};

	for (int i = 0; i < 7 * 2 * BESIDE_SIZES; i++) {
		item.grid.blocks = shapes[i / 2 / BESIDE_SIZES][0];
		item.grid.threads = shapes[i / 2 / BESIDE_SIZES][1];
		item.size = i % BESIDE_SIZES;
		item.ns = i / BESIDE_SIZES % 2 ? WAIT_NS : 0;
		show(item, high, filter);
	}
	item = (struct item){ADD, {0, 512, stream}, 0, 0, 0};
	for (int i = 0; i < 12; i++) {
		item.grid.blocks = blocks[i % 6];
		item.bytes = sizes[1 + i / 6];
		show(item, high, filter);
	}
	for (int i = 0; i < 6; i++) {
		item.kind = i < 3 ? COPY : TO_HOST;
		item.bytes = sizes[i % 3];
		show(item, high, filter);
	}
}

int main(int argc, char **argv)
{
	const char *filter = argc > 1 ? argv[1] : "";
	struct cudaDeviceProp gpu;
	cudaStream_t stream;
	int least, most;

	must(cudaGetDeviceProperties(&gpu, 0), "find a GPU");
	if (!bench_open())
		return 3;
	printf("# %s, cuBLAS %d; us: median alone, median and 95%% beside "
	       "products; items a round; ms of products without and with "
	       "them; us that each adds\n",
	       gpu.name, gt_blas_version(bench.blas));
	must(cudaDeviceGetStreamPriorityRange(&least, &most), "ask");
	for (int high = 0; high < 2; high++) {
		must(cudaStreamCreateWithPriority(&stream,
						  cudaStreamNonBlocking,
						  high ? most : least),
		     "make a stream");
		show_stream(stream, high, filter);
		must(cudaStreamDestroy(stream), "end a stream");
	}
	gt_blas_close(bench.blas);
	return 0;
}
