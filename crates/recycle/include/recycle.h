/* Files larger than memory, whose pages make room for each other.
 *
 * Link with librecycle.a (or librecycle.so), -lpthread and -ldl. Functions that return int return 0, or -1 for an error;
 * those that return a pointer return NULL for an error; recycle_last_error then says why. Offsets and lengths are bytes,
 * pages have 4096 of them. Threads may share a mapping or a region, unless a function says otherwise.
 */
#ifndef RECYCLE_H
#define RECYCLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a mapping or a region is set up. 0 is the default, so begin with {0}. */
struct recycle_options {
    uint64_t memory;      /* most bytes of the file in memory; 64 MiB */
    uint64_t read_ahead;  /* most bytes read at once for a stream; 512 KiB */
    uint32_t batch;       /* most pages recycled at once; 32 */
    uint32_t policy;      /* RECYCLE_COR, _FR or _FP; _FP */
    uint32_t replacement; /* RECYCLE_CLOCK, _LRU or _CFLRU; _CLOCK */
    uint32_t faults;      /* RECYCLE_SIGNAL or _THREAD; _SIGNAL; mappings only */
    int is_read_only;     /* whether the file is opened for reading only */
};

enum { RECYCLE_COR = 1, RECYCLE_FR = 2, RECYCLE_FP = 3 };
enum { RECYCLE_CLOCK = 1, RECYCLE_LRU = 2, RECYCLE_CFLRU = 3 };
enum { RECYCLE_SIGNAL = 1, RECYCLE_THREAD = 2 };
enum { RECYCLE_NORMAL, RECYCLE_RANDOM, RECYCLE_SEQUENTIAL, RECYCLE_WILL_NEED, RECYCLE_DONT_NEED };

/* Why the last failed call of this thread failed. Valid until its next call that fails. */
const char *recycle_last_error(void);

/* A file at an address.
 *
 * A page that was evicted is read from the file again when it is next used. If another program, or this one past the
 * mapping, writes the file meanwhile, bytes change between two looks at them: a program that checks bytes and then uses
 * them must see to it that nobody does, or copy them first. Pages pinned in a recycle_region do not change.
 *
 * Accesses whose page cannot be had receive SIGBUS, as with mmap: the device failed, or the file was shortened. With
 * RECYCLE_SIGNAL, system calls on these bytes return EFAULT where a page is absent: use recycle_map_read and _write, or
 * RECYCLE_THREAD. A forked child does not have the bytes: its accesses receive SIGSEGV. */
typedef struct recycle_mapping recycle_mapping;

recycle_mapping *recycle_map(const char *path, const struct recycle_options *options);
void *recycle_map_data(const recycle_mapping *mapping);
uint64_t recycle_map_len(const recycle_mapping *mapping);
int recycle_map_read(const recycle_mapping *mapping, uint64_t offset, void *buffer, size_t bytes);
/* No other thread uses these bytes meanwhile; others may use other bytes. */
int recycle_map_write(const recycle_mapping *mapping, uint64_t offset, const void *buffer, size_t bytes);
int recycle_map_sync(const recycle_mapping *mapping, uint64_t offset, uint64_t bytes);
int recycle_map_advise(const recycle_mapping *mapping, uint64_t offset, uint64_t bytes, uint32_t advice);
/* No other thread uses the mapping meanwhile; recycle_map_data may be another address afterwards. */
int recycle_map_resize(recycle_mapping *mapping, uint64_t len);
/* Writes what is changed, without making it durable. NULL is allowed. */
void recycle_map_close(recycle_mapping *mapping);

/* A file whose pages are pinned one by one: faster, and without userfaultfd. */
typedef struct recycle_region recycle_region;

recycle_region *recycle_open(const char *path, const struct recycle_options *options);
uint64_t recycle_len(const recycle_region *region);
/* The bytes of a page, which stays in memory until recycle_unpin. */
const void *recycle_pin(const recycle_region *region, uint64_t page);
/* As recycle_pin, for the caller alone, to change it. */
void *recycle_pin_mut(const recycle_region *region, uint64_t page);
/* Once for each pin. */
void recycle_unpin(const recycle_region *region, uint64_t page);
/* The caller holds no page by recycle_pin_mut. */
int recycle_sync(const recycle_region *region, uint64_t offset, uint64_t bytes);
int recycle_advise(const recycle_region *region, uint64_t offset, uint64_t bytes, uint32_t advice);
/* No page is pinned, and no other thread uses the region meanwhile. */
int recycle_resize(recycle_region *region, uint64_t len);
/* Writes what is changed, without making it durable. No page is pinned. NULL is allowed. */
void recycle_close(recycle_region *region);

#ifdef __cplusplus
}
#endif

#endif
