// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Calls that make domains and regions, and those on them. */
#include <sys/mman.h>

#include "test_sweep.h"

/* ---- domains ---- */

static int domain_open(void)
{
	struct hmr_domain *dom = UNTOUCHED;
	int ret;

	arm();
	ret = hmr_domain_open(pds, 2, NULL, &dom);
	disarm();
	if (ret)
		check_untouched(dom);
	else
		assert_int_equal(hmr_domain_close(dom), 0);
	return ret;
}

static int domain_close(void)
{
	struct hmr_domain *dom = open_domain();
	int ret;

	arm();
	ret = hmr_domain_close(dom);
	disarm();
	return ret;
}

/* Memory that isn't there yet, of many MRs. */
static struct hmr_region *register_chunks(struct hmr_domain *dom, char *p,
					  uint32_t threads)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = MIB, .threads = threads);
	struct hmr_region *region;

	assert_int_equal(
		hmr_register(dom, p + 1, LENGTH - 1, LW, &opts, &region), 0);
	return region;
}

static int domain_drain(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	int ret, i;

	for (i = 0; i < 3; i++)
		register_chunks(dom, p, 1);
	arm();
	ret = hmr_domain_drain(dom);
	disarm();
	/* What it didn't get rid of is still there to try again. */
	if (ret)
		assert_int_equal(hmr_domain_close(dom), -EBUSY);
	assert_int_equal(hmr_domain_drain(dom), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

void domains(void **state)
{
	sweep("hmr_domain_open", domain_open);
	sweep("hmr_domain_close", domain_close);
	sweep("hmr_domain_drain", domain_drain);
}

/* ---- regions ---- */

static int register_with(int access, const struct hmr_register_opts *opts)
{
	struct hmr_region *region = UNTOUCHED;
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	int ret;

	arm();
	ret = hmr_register(dom, p + 1, LENGTH - 1, access, opts, &region);
	disarm();
	if (ret)
		check_untouched(region);
	else
		assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

#define REGISTER(name, access, ...)                             \
	static int name(void)                                   \
	{                                                       \
		HMR_OPTS(hmr_register_opts, opts, __VA_ARGS__); \
		return register_with(access, &opts);            \
	}

REGISTER(register_plainly, LW, .threads = 2)
REGISTER(register_in_chunks, LW, .chunk = MIB, .threads = 1)
REGISTER(register_by_threads, LW, .chunk = MIB, .threads = 2)
REGISTER(register_for_reading, 0, .chunk = MIB, .threads = 2)
REGISTER(register_at_an_iova, LW, .chunk = MIB, .threads = 2,
	 .flags = HMR_REGISTER_IOVA, .iova = PAGE + 1)
REGISTER(register_a_dmabuf, LW, .chunk = MIB, .threads = 2,
	 .flags = HMR_REGISTER_DMABUF)
REGISTER(register_on_demand, LW | IBV_ACCESS_ON_DEMAND, .chunk = MIB,
	 .threads = 2, .flags = HMR_REGISTER_PREFETCH)

/* All that is asked about a refusal may fail too. */
static int register_refused(void)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = MIB, .threads = 1);
	int ret;

	refuse_at = 4;
	dereg_works = true;
	ret = register_with(LW, &opts);
	dereg_works = false;
	refuse_at = 0;
	assert_true(ret < 0);
	return ret;
}

static int deregister_with(uint32_t threads)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, threads);
	int ret;

	arm();
	ret = hmr_deregister(region);
	disarm();
	/* It may be repeated. */
	if (ret) {
		assert_int_equal(hmr_domain_close(dom), -EBUSY);
		assert_int_equal(hmr_deregister(region), 0);
	}
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

static int deregister(void)
{
	return deregister_with(1);
}

static int deregister_by_threads(void)
{
	return deregister_with(2);
}

static int reregister(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, 1);
	int ret;

	arm();
	ret = hmr_reregister(region, 0);
	disarm();
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

static int region_report(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, 1);
	HMR_RESULT(hmr_report, report);

	arm();
	hmr_region_report(region, &report);
	disarm();
	assert_int_equal(report.length, LENGTH - 1);
	assert_int_equal(report.mrs, 8);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return 0;
}

/* What a transfer is made of comes without a call to anyone. */
static int region_lists(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, 1);
	struct hmr_key keys[4], got[4];
	struct hmr_remote remote[4];
	struct ibv_sge sges[4];
	char wire[256];

	arm();
	assert_int_equal(hmr_keys(region, 1, keys, 4), 4);
	assert_int_equal(hmr_sges(region, 1, p + 1, LENGTH - 1, sges, 4), 4);
	assert_true(hmr_keys_pack(keys, 4, wire, sizeof(wire)) > 0);
	assert_int_equal(hmr_keys_unpack(wire, sizeof(wire), got, 4), 4);
	assert_int_equal(
		hmr_remote_sge(got, 4, keys[0].addr, LENGTH - 1, remote, 4), 4);
	disarm();
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return 0;
}

void regions(void **state)
{
	sweep("hmr_register", register_plainly);
	sweep("hmr_register", register_in_chunks);
	sweep("hmr_register", register_by_threads);
	sweep("hmr_register", register_for_reading);
	sweep("hmr_register", register_at_an_iova);
	sweep("hmr_register", register_a_dmabuf);
	sweep("hmr_register", register_on_demand);
	sweep("hmr_register", register_refused);
	sweep("hmr_deregister", deregister);
	sweep("hmr_deregister", deregister_by_threads);
	sweep("hmr_reregister", reregister);
	rereg_loses_mrs();
	sweep("hmr_reregister", reregister);
	sweep("hmr_region_report", region_report);
	sweep("hmr_sges, hmr_keys and their like", region_lists);
}
