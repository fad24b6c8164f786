// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * count_loop ROUNDS TIMES: print what the monotonic clock makes of a loop of
 * two instructions a round, in nanoseconds, once a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static long long measure(unsigned long rounds)
{
	long long start;

	start = now();
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
	return now() - start;
}

int main(int argc, char **argv)
{
	unsigned long rounds;
	int times;

	if (argc != 3) {
		fprintf(stderr, "Usage: count_loop ROUNDS TIMES\n");
		return 2;
	}
	rounds = strtoul(argv[1], NULL, 10);
	for (times = atoi(argv[2]); rounds && times > 0; times--)
		printf("%lld\n", measure(rounds));
	return 0;
}
