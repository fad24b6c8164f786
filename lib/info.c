// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What the library can do here: found by trying, never by version. */
#include "attempt.h"
#include "opts.h"
#include "pagemap.h"
#include "populate.h"

HMR_API int hmr_info(struct hmr_info *info)
{
	struct hmr_info i = {
		.features = HMR_FEATURE_ODP | HMR_FEATURE_DMABUF,
		.untried = HMR_FEATURE_DMABUF,
	};

	if (!info || info->size < sizeof(info->size))
		return hmr_einval("hmr_info", "no result struct with its size "
					      "set");
	if (hmr_populate_have_madvise())
		i.features |= HMR_FEATURE_POPULATE;
	if (hmr_have_collapse())
		i.features |= HMR_FEATURE_COLLAPSE;
	if (hmr_pagemap_can_scan())
		i.features |= HMR_FEATURE_PAGEMAP_SCAN;
	if (hmr_pagemap_can_flags())
		i.features |= HMR_FEATURE_KPAGEFLAGS;
	if (!hmr_needs_dontfork())
		i.features |= HMR_FEATURE_COPY_ON_FORK;
	hmr_result_copy(info, &i, sizeof(i));
	return 0;
}
