// SPDX-License-Identifier: GPL-2.0
/*
 * Passes over a file that is mapped, as in the synthetic benchmark of
 * Song 2018, 2.3.1 and 4.1.1, and checks what it reads:
 *
 *	mapped FILE MIB sequential|random read|write PASSES PROCESSES
 *	mapped FILE MIB make
 *	mapped FILE MIB check PASSES
 *
 * Each page begins with its number and the last pass that wrote it, which
 * `check` compares. Prints context switches or what is wrong; the status is 1
 * then.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

struct stamp {
	uint64_t page, pass;
};

static uint64_t stamp_of(const char *data, uint64_t page)
{
	struct stamp stamp;

	memcpy(&stamp, data + page * PAGE, sizeof(stamp));
	if (stamp.page != page)
		errx(1, "page %" PRIu64 " holds page %" PRIu64, page,
		     stamp.page);
	return stamp.pass;
}

/* A permutation of the pages, whose number is a power of two. */
static uint64_t place(uint64_t at, uint64_t pages, bool is_random)
{
	return is_random ? (at * 2654435761u + 12345) & (pages - 1) : at;
}

static void make(int fd, uint64_t pages)
{
	char page[PAGE] = "";

	for (uint64_t at = 0; at < pages; at++) {
		struct stamp stamp = { at, 0 };

		memcpy(page, &stamp, sizeof(stamp));
		if (write(fd, page, PAGE) != PAGE)
			err(2, "write");
	}
	if (fsync(fd))
		err(2, "fsync");
}

static void pass_over(char *data, uint64_t pages, bool is_random, bool writes,
		      uint64_t passes)
{
	for (uint64_t pass = 1; pass <= passes; pass++) {
		for (uint64_t at = 0; at < pages; at++) {
			uint64_t page = place(at, pages, is_random);
			struct stamp stamp = { page, pass };
			uint64_t found = stamp_of(data, page);

			/* Other processes may be one ahead or behind. */
			if (writes && found > pass)
				stamp.pass = found;
			if (writes)
				memcpy(data + page * PAGE, &stamp,
				       sizeof(stamp));
		}
	}
}

static void check(int fd, uint64_t pages, uint64_t passes)
{
	for (uint64_t page = 0; page < pages; page++) {
		struct stamp stamp;

		if (pread(fd, &stamp, sizeof(stamp), page * PAGE) !=
		    sizeof(stamp))
			err(2, "pread");
		if (stamp.page != page || stamp.pass != passes)
			errx(1, "page %" PRIu64 " is page %" PRIu64
			     " of pass %" PRIu64, page, stamp.page, stamp.pass);
	}
}

/* Returns the status. */
static int pass_over_in(int processes, int fd, uint64_t pages, bool is_random,
			bool writes, uint64_t passes)
{
	char *data = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	struct rusage usage;
	int status, failed = 0;

	if (data == MAP_FAILED)
		err(2, "mmap");
	if (is_random && madvise(data, pages * PAGE, MADV_RANDOM))
		err(2, "madvise");
	for (int at = 0; at < processes; at++) {
		pid_t child = fork();

		if (child < 0)
			err(2, "fork");
		if (!child) {
			pass_over(data, pages, is_random, writes, passes);
			exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("switches %ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[3] : "";
	uint64_t pages = argc > 3 ? strtoull(argv[2], NULL, 10) * 256 : 0;
	int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : 0;

	if (fd < 0)
		err(2, "%s", argv[1]);
	if (argc > 3 && (!pages || pages & (pages - 1)))
		errx(2, "MIB is no power of two");
	if (argc == 4 && !strcmp(what, "make"))
		make(fd, pages);
	else if (argc == 5 && !strcmp(what, "check"))
		check(fd, pages, strtoull(argv[4], NULL, 10));
	else if (argc == 7)
		return pass_over_in(atoi(argv[6]), fd, pages,
				    !strcmp(what, "random"),
				    !strcmp(argv[4], "write"),
				    strtoull(argv[5], NULL, 10));
	else
		errx(2, "usage: mapped FILE MIB make|check|sequential|random ...");
	return 0;
}
