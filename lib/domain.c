// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Domains: the PDs that a range is registered on. */
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "opts.h"
#include "ranges.h"

HMR_API int hmr_domain_open(struct ibv_pd *const *pds, unsigned int n,
			    const struct hmr_domain_opts *opts,
			    struct hmr_domain **out)
{
	struct hmr_error err = { .op = "hmr_domain_open" };
	struct hmr_domain *dom;
	unsigned int i;

	err.err = hmr_opts_check(opts, sizeof(*opts));
	if (err.err)
		return hmr_fail(&err,
				"an option is set that hugemr %s "
				"doesn't know",
				hmr_version());
	err.err = -EINVAL;
	if (!n || !pds)
		return hmr_fail(&err, "a domain needs at least one PD");
	for (i = 0; i < n; i++)
		if (!pds[i])
			return hmr_fail(&err, "PD %u is NULL", i);

	err.err = -ENOMEM;
	dom = malloc(sizeof(*dom) + n * sizeof(dom->pds[0]));
	if (!dom)
		return hmr_fail(&err, "no memory for the handle");
	dom->n_pds = n;
	memcpy(dom->pds, pds, n * sizeof(dom->pds[0]));
	*out = dom;
	return 0;
}

HMR_API int hmr_domain_close(struct hmr_domain *dom)
{
	struct hmr_error err = { .op = "hmr_domain_close", .err = -EBUSY };
	struct hmr_range range;
	unsigned int n;

	if (!dom)
		return 0;
	n = hmr_ranges_of(dom, &range);
	if (n) {
		err.addr = (void *)range.addr;
		err.length = range.length;
		return hmr_fail(&err,
				"%u regions are still registered, one of them "
				"%zu bytes at %#lx",
				n, range.length, range.addr);
	}
	free(dom);
	return 0;
}
