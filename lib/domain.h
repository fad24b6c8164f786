/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_DOMAIN_H
#define HMR_DOMAIN_H

#include "internal.h"

struct ibv_pd;

/* Constant while it lives, so regions read it without a lock. */
struct hmr_domain {
	unsigned int generation;
	/* the smallest over the PDs; UINT64_MAX for none */
	uint64_t max_mr_size;
	uint64_t max_mr_pages;
	unsigned int n_pds;
	struct ibv_pd *pds[];
};

/* The limits of one MR on every PD of a domain; UINT64_MAX for none. */
static inline void hmr_domain_limits(const struct hmr_domain *dom,
				     uint64_t *max_mr_size,
				     uint64_t *max_mr_pages)
{
	*max_mr_size = dom->max_mr_size;
	*max_mr_pages = dom->max_mr_pages;
}

#endif /* HMR_DOMAIN_H */
