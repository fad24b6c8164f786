/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_REGION_H
#define HMR_REGION_H

#include "domain.h"
#include "ranges.h"

struct ibv_mr;

struct hmr_region {
	const struct hmr_domain *dom;
	char *addr;
	size_t length;
	/* by which the device knows addr */
	uint64_t iova;
	uint64_t pin_ns;
	int access;
	struct hmr_range range;
	/* one for each PD; NULL where a failed deregistration has already let
	 * go */
	struct ibv_mr *mrs[];
};

#endif /* HMR_REGION_H */
