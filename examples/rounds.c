// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "rounds.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loopback.h"
#include "verify.h"

/* One thread with its own buffer. */
struct worker {
	const struct rounds_config *config;
	struct hmr_domain *dom;
	struct hmr_buffer *buf;
	pthread_barrier_t *start;
	pthread_t thread;
	/* pairs: register, deregister */
	uint64_t *samples;
	unsigned long n;
	unsigned long room;
	uint64_t begin;
	uint64_t end;
	unsigned long transfers;
	int err;
	char text[512];
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int worker_failed(struct worker *w, int err, const char *text)
{
	if (!w->err) {
		w->err = err;
		snprintf(w->text, sizeof(w->text), "%s", text);
	}
	return err;
}

static int worker_register(struct worker *w, struct hmr_region **region)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = w->config->chunk,
		 .threads = w->config->pin_threads);
	int ret;

	ret = hmr_register(w->dom, hmr_buffer_addr(w->buf), w->config->size,
			   w->config->access, &opts, region);
	return ret ? worker_failed(w, ret, hmr_last_error()->text) : 0;
}

static int worker_deregister(struct worker *w, struct hmr_region *region)
{
	int ret = hmr_deregister(region);

	return ret ? worker_failed(w, ret, hmr_last_error()->text) : 0;
}

static int make_room(struct worker *w)
{
	unsigned long room = w->room ? 2 * w->room : 64;
	uint64_t *samples;

	if (w->n < w->room)
		return 0;
	samples = realloc(w->samples, room * 2 * sizeof(*samples));
	if (!samples)
		return worker_failed(w, -ENOMEM, "no memory for the samples");
	w->samples = samples;
	w->room = room;
	return 0;
}

static int one_round(struct worker *w)
{
	struct hmr_region *region;
	uint64_t t0, t1, t2;
	int ret;

	/* Outside of what is timed. */
	ret = make_room(w);
	if (ret)
		return ret;
	t0 = now();
	ret = worker_register(w, &region);
	t1 = now();
	if (ret)
		return ret;
	ret = worker_deregister(w, region);
	t2 = now();
	if (ret)
		return ret;
	w->samples[2 * w->n] = t1 - t0;
	w->samples[2 * w->n + 1] = t2 - t1;
	w->n++;
	return 0;
}

static bool more_rounds(const struct worker *w)
{
	const struct rounds_config *c = w->config;

	if (c->rounds)
		return w->n < c->rounds;
	return !w->n || (double)(now() - w->begin) < c->seconds * 1e9;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(w->start);
	w->begin = now();
	while (more_rounds(w))
		if (one_round(w))
			break;
	w->end = now();
	return NULL;
}

/* Apart from the rounds that are timed, on a registration of its own. */
static int verify(struct worker *w)
{
	const struct rounds_config *c = w->config;
	struct hmr_region *region;
	struct loopback *lb;
	int ret, ret2;

	ret = loopback_open(c->pd, c->port, c->gid_index, VERIFY_MAX_TRANSFER,
			    &lb);
	if (ret)
		return worker_failed(w, ret, "no loopback queue pairs");
	ret = worker_register(w, &region);
	if (ret)
		goto err_register;
	ret = verify_region(lb, region, hmr_buffer_addr(w->buf), c->size,
			    &w->transfers);
	if (ret)
		worker_failed(w, ret, "the MR failed its verification");
	ret2 = worker_deregister(w, region);
	if (!ret)
		ret = ret2;
err_register:
	loopback_close(lb);
	return ret;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* @which is 0 for register, 1 for deregister. */
static int make_series(const struct worker *workers, unsigned int threads,
		       unsigned int which, struct rounds_series *s)
{
	unsigned long i, n = 0, total = 0;
	uint64_t *all;
	double sum = 0;
	unsigned int t;

	for (t = 0; t < threads; t++)
		total += workers[t].n;
	all = malloc(total * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (t = 0; t < threads; t++)
		for (i = 1; i < workers[t].n; i++)
			all[n++] = workers[t].samples[2 * i + which];
	s->first = workers[0].samples[which];
	if (n) {
		qsort(all, n, sizeof(*all), compare);
		for (i = 0; i < n; i++)
			sum += (double)all[i];
		s->min = all[0];
		s->median = (all[(n - 1) / 2] + all[n / 2]) / 2;
		/* nearest rank */
		s->p99 = all[(n * 99 + 99) / 100 - 1];
		s->mean = sum / (double)n;
	}
	free(all);
	return 0;
}

static int summarize(const struct worker *workers, unsigned int threads,
		     struct rounds_result *r)
{
	uint64_t begin = UINT64_MAX, end = 0;
	unsigned int t;
	int ret;

	for (t = 0; t < threads; t++) {
		const struct worker *w = &workers[t];

		r->rounds += w->n;
		r->transfers += w->transfers;
		begin = w->begin < begin ? w->begin : begin;
		end = w->end > end ? w->end : end;
		if (w->err && !r->err) {
			r->err = w->err;
			snprintf(r->text, sizeof(r->text), "%s", w->text);
		}
	}
	if (r->err)
		return r->err;
	r->elapsed = end - begin;
	r->backing.size = sizeof(r->backing);
	ret = hmr_buffer_backing(workers[0].buf, &r->backing);
	snprintf(r->why, sizeof(r->why), "%s", hmr_buffer_why(workers[0].buf));
	if (!ret)
		ret = make_series(workers, threads, 0, &r->reg);
	if (!ret)
		ret = make_series(workers, threads, 1, &r->dereg);
	return ret;
}

static int run_threads(struct worker *workers, unsigned int threads)
{
	pthread_barrier_t start;
	unsigned int t;
	int ret = 0;

	pthread_barrier_init(&start, NULL, threads);
	for (t = 0; t < threads; t++) {
		workers[t].start = &start;
		/* The caller is the first of them. */
		if (t)
			ret = -pthread_create(&workers[t].thread, NULL, work,
					      &workers[t]);
		if (ret)
			break;
	}
	if (ret) {
		/* The others wait at the barrier and can't be told. */
		fprintf(stderr, "reg_rounds: no more threads than %u: %s\n", t,
			strerror(-ret));
		exit(1);
	}
	work(&workers[0]);
	for (t = 1; t < threads; t++)
		pthread_join(workers[t].thread, NULL);
	pthread_barrier_destroy(&start);
	return 0;
}

static int alloc_buffers(struct worker *workers, enum hmr_pages pages)
{
	const struct rounds_config *c = workers[0].config;
	HMR_OPTS(hmr_buffer_opts, opts, .pages = pages);
	unsigned int t;
	int ret;

	for (t = 0; t < c->threads; t++) {
		ret = hmr_buffer_alloc(c->size, &opts, &workers[t].buf);
		if (ret)
			return worker_failed(&workers[t], ret,
					     hmr_last_error()->text);
	}
	return 0;
}

static int free_workers(struct worker *workers, unsigned int threads)
{
	unsigned int t;
	int ret = 0, ret2;

	for (t = 0; t < threads; t++) {
		free(workers[t].samples);
		ret2 = hmr_buffer_free(workers[t].buf);
		if (!ret)
			ret = ret2;
	}
	return ret;
}

int rounds_measure(const struct rounds_config *c, enum hmr_pages pages,
		   struct rounds_result *r)
{
	/* One MR is what is measured, unless chunks were asked for: the limit
	 * that hugemr knows of soft-RoCE is for the kernel to show. */
	HMR_OPTS(hmr_domain_opts, opts, .max_mr_pages = UINT64_MAX);
	struct worker *workers = calloc(c->threads, sizeof(*workers));
	struct hmr_domain *dom = NULL;
	unsigned int t;
	int ret;

	ret = workers ? hmr_domain_open(&c->pd, 1, &opts, &dom) : -ENOMEM;
	if (ret)
		goto err_domain;
	for (t = 0; t < c->threads; t++) {
		workers[t].config = c;
		workers[t].dom = dom;
	}
	ret = alloc_buffers(workers, pages);
	r->no_buffer = ret;
	if (!ret)
		ret = run_threads(workers, c->threads);
	for (t = 0; !ret && c->verify && t < c->threads; t++)
		ret = verify(&workers[t]);
	ret = summarize(workers, c->threads, r);
	if (free_workers(workers, c->threads) && !ret)
		ret = -EBUSY;
	if (hmr_domain_close(dom) && !ret)
		ret = -EBUSY;
err_domain:
	free(workers);
	if (ret && !r->err) {
		r->err = ret;
		snprintf(r->text, sizeof(r->text), "%s", strerror(-ret));
	}
	return r->err;
}
