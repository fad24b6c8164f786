/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_DOMAIN_H
#define HMR_DOMAIN_H

#include "internal.h"

/* Constant while it lives, so regions read it without a lock. */
struct hmr_domain {
	unsigned int n_pds;
	struct ibv_pd *pds[];
};

#endif /* HMR_DOMAIN_H */
