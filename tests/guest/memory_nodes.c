// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Buffers on NUMA nodes. */
#include <sched.h>
#include <unistd.h>

#include "memory.h"

static void bound_to_a_node(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_2M, HMR_PAGES_THP,
					 HMR_PAGES_4K };
	struct hmr_backing b;
	struct hmr_buffer *buf;
	int i, node;

	for (i = 0; i < 3; i++)
		for (node = 0; node < 2; node++) {
			buf = ALLOC(8 * MIB, .pages = kinds[i],
				    .flags = HMR_BUFFER_BIND,
				    .nodes = 1u << node);
			assert_pages(buf, kinds[i]);
			b = buffer_backing(buf);
			assert_true(b.flags & HMR_BACKING_BY_NODE);
			assert_int_equal(b.node[node], 8 * MIB);
			assert_int_equal(b.node[!node], 0);
			assert_int_equal(hmr_buffer_free(buf), 0);
		}
}

/* Where threads beside the caller did their share. */
struct places {
	pid_t self;
	unsigned int nodes;
	unsigned int others;
};

static int note_place(uint64_t done, uint64_t total, void *arg)
{
	struct places *p = arg;
	unsigned int cpu, node;

	if (gettid() == p->self)
		return 0;
	if (getcpu(&cpu, &node))
		return 1;
	p->nodes |= 1u << node;
	p->others++;
	return 0;
}

static struct places populate_places(struct hmr_buffer *buf)
{
	struct places p = { .self = gettid() };
	HMR_OPTS(hmr_populate_opts, opts, .threads = 3, .progress = note_place,
		 .arg = &p);
	HMR_RESULT(hmr_populate_report, report);

	assert_int_equal(hmr_populate(hmr_buffer_addr(buf),
				      hmr_buffer_length(buf), &opts, &report),
			 0);
	assert_int_equal(report.threads, 3);
	return p;
}

static void threads_run_where_the_memory_goes(void **state)
{
	struct hmr_buffer *buf;
	struct places p;
	int node;

	for (node = 0; node < 2; node++) {
		buf = ALLOC(64 * MIB, .pages = HMR_PAGES_4K,
			    .flags = HMR_BUFFER_BIND | HMR_BUFFER_UNTOUCHED,
			    .nodes = 1u << node);
		p = populate_places(buf);
		assert_true(p.others > 0);
		assert_int_equal(p.nodes, 1u << node);
		assert_int_equal(buffer_backing(buf).node[node], 64 * MIB);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
	/* Over both nodes, any CPU will do, and all of them are chosen. */
	buf = ALLOC(64 * MIB, .pages = HMR_PAGES_4K, .nodes = 3,
		    .flags = HMR_BUFFER_INTERLEAVE | HMR_BUFFER_UNTOUCHED);
	HMR_RESULT(hmr_populate_report, report);
	assert_int_equal(
		hmr_populate(hmr_buffer_addr(buf), 64 * MIB, NULL, &report), 0);
	assert_int_equal(report.threads, 4);
	assert_int_equal(report.threads_why, HMR_THREADS_CPUS);
	assert_int_equal(hmr_buffer_free(buf), 0);
	/* Memory without a policy goes to the node of who populates it. */
	buf = ALLOC(64 * MIB, .pages = HMR_PAGES_4K,
		    .flags = HMR_BUFFER_UNTOUCHED);
	assert_int_equal(
		hmr_populate(hmr_buffer_addr(buf), 64 * MIB, NULL, &report), 0);
	assert_int_equal(report.threads, 2);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void interleaved_on_two_nodes(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_2M, HMR_PAGES_4K };
	struct hmr_backing b;
	struct hmr_buffer *buf;
	unsigned int i, shared;

	for (i = 0; i < 4; i++) {
		shared = i & 2 ? HMR_BUFFER_SHARED : 0;
		buf = ALLOC(8 * MIB, .pages = kinds[i & 1], .nodes = 3,
			    .flags = HMR_BUFFER_INTERLEAVE | shared);
		assert_pages(buf, kinds[i & 1]);
		b = buffer_backing(buf);
		assert_int_equal(b.node[0], 4 * MIB);
		assert_int_equal(b.node[1], 4 * MIB);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
}

static void local_to_a_device(void **state)
{
	struct hmr_buffer *buf;

	/* soft-RoCE has no node */
	buf = ALLOC(MIB, .pages = HMR_PAGES_4K, .device = "rxe0");
	assert_pages(buf, HMR_PAGES_4K);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(ALLOC_ERROR(MIB, .device = "rxe9"), -ENODEV);
	assert_int_equal(ALLOC_ERROR(MIB, .flags = HMR_BUFFER_BIND, .nodes = 4),
			 -EINVAL);
	assert_says("with memory are 0x3");
}

static void node_without_pages(void **state)
{
	const uint32_t flags[] = { HMR_BUFFER_BIND,
				   HMR_BUFFER_BIND | HMR_BUFFER_SHARED };
	struct hmr_buffer *buf;
	unsigned int i;

	set_node_pages(1, "3");
	for (i = 0; i < 2; i++) {
		/* The pool as a whole has 11: mmap() has no objections. */
		assert_int_equal(ALLOC_ERROR(8 * MIB, .pages = HMR_PAGES_2M,
					     .flags = flags[i], .nodes = 2),
				 -EFAULT);
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_NODE_POOL);
		assert_int_equal(hmr_last_error()->need, 4);
		assert_int_equal(hmr_last_error()->have, 3);
		assert_says("node 1: 3");
		assert_int_equal(node_pages(1, "free_hugepages"), 3);
		buf = ALLOC(6 * MIB, .pages = HMR_PAGES_2M, .flags = flags[i],
			    .nodes = 2);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
	buf = ALLOC(8 * MIB, .flags = HMR_BUFFER_BIND, .nodes = 2);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_THP);
	assert_int_equal(buffer_backing(buf).node[1], 8 * MIB);
	assert_non_null(strstr(hmr_buffer_why(buf), "node 1: 3"));
	assert_int_equal(hmr_buffer_free(buf), 0);
	set_node_pages(1, "8");
}

static void more_than_a_node_has(void **state)
{
	assert_int_equal(ALLOC_ERROR(1ul << 40, .pages = HMR_PAGES_THP,
				     .flags = HMR_BUFFER_BIND, .nodes = 2),
			 -ENOMEM);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_MEMORY);
	assert_says("in all");
}

const struct CMUnitTest memory_node_tests[] = {
	each(bound_to_a_node),
	each(threads_run_where_the_memory_goes),
	each(interleaved_on_two_nodes),
	each(local_to_a_device),
	each(node_without_pages),
	each(more_than_a_node_has),
	{ NULL },
};
