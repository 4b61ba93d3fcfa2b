/* A cache of paths that are looked up from their end.
 *
 * Link with libbackpath.a (or libbackpath.so), -lpthread, -ldl and -lm.
 *
 * Who asks is allowed what the file system said: an entry is found by those credentials only for which it was inserted.
 * Three rules keep the answers right, and no function can check them:
 *   1. take a ticket before the file system is asked, before the first directory on the way;
 *   2. insert for a principal only what it was allowed to reach since: every directory on the way was searched for it;
 *   3. name every change of the file system before it happens, and end it afterwards.
 *
 * Paths are bytes of a given length, without a NUL at the end, and canonical: they begin with a slash, and have no empty
 * component, no "." and "..", and no slash at the end. A path of length 0 may be NULL. Pointers are valid; where NULL is
 * allowed, the function says so. Nothing that is passed is kept: it may be freed when the function returns. All threads may
 * use a cache and a principal at once; a look-up takes no lock. Principals and changes hold their cache: the three may be
 * freed in any order, each once.
 */
#ifndef BACKPATH_H
#define BACKPATH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How large a cache is. 0 is the default, so begin with {0}. */
struct backpath_options {
    uint64_t capacity; /* about how many paths it keeps, at most 2^28; 100,000 */
    uint64_t grants;   /* how many principals an entry remembers, at most 6; 5 */
    uint64_t seed;     /* of the hashes; a random number where strangers choose the paths; a constant */
};

typedef struct backpath_cache backpath_cache;

/* An empty cache; NULL if an option is out of bounds. `options` may be NULL. */
backpath_cache *backpath_new(const struct backpath_options *options);
/* NULL is allowed. */
void backpath_free(backpath_cache *cache);
/* Paths and inodes that it keeps. */
uint64_t backpath_len(const backpath_cache *cache);
/* Entries that made room for others. */
uint64_t backpath_evictions(const backpath_cache *cache);

/* What a process may do beyond its user and groups: capabilities(7). */
enum {
    BACKPATH_DAC_OVERRIDE = 1,
    BACKPATH_DAC_READ_SEARCH = 2,
    BACKPATH_FOWNER = 4,
    BACKPATH_CHOWN = 8
};

/* Credentials that a cache knows. Equal credentials are one principal, whatever the order of their groups; different ones
 * are never taken for each other. A principal of another cache is granted nothing. */
typedef struct backpath_principal backpath_principal;

/* NULL if `capabilities` has other bits. `groups` may be NULL if `group_count` is 0. */
backpath_principal *backpath_principal_new(const backpath_cache *cache, uint32_t uid, uint32_t gid,
                                           const uint32_t *groups, size_t group_count, uint32_t capabilities);
/* NULL is allowed. */
void backpath_principal_free(backpath_principal *principal);

enum { BACKPATH_FILE = 0, BACKPATH_DIRECTORY = 1, BACKPATH_SYMLINK = 2 };

/* What is at the end of a path. */
struct backpath_entry {
    uint64_t inode; /* the object's number, the same for all its names */
    uint64_t data;  /* yours: it comes back with the entry */
    uint32_t links; /* how many names it has: an object with several is kept once and found by each; 0 is as 1 */
    uint32_t kind;  /* BACKPATH_FILE (also everything else), _DIRECTORY or _SYMLINK */
};

enum {
    BACKPATH_MISS = 0,    /* nothing is known */
    BACKPATH_HIT = 1,     /* the object, which the principal may reach */
    BACKPATH_NEGATIVE = 2, /* there is nothing, and the principal may know */
    BACKPATH_PREFIX = 3   /* the deepest directory on the way that is known and that the principal may reach */
};

/* Looks a path up, the whole of it first and then one component less each time. Returns one of the four. For a hit or a
 * prefix `entry` is filled, for everything but a miss `prefix_bytes` is how much of the path the answer is about: less than
 * all of it for a NEGATIVE whose directory is missing already. Both may be NULL. A path that is not canonical is a miss. */
int backpath_lookup(const backpath_cache *cache, const char *path, size_t path_bytes,
                    const backpath_principal *principal, struct backpath_entry *entry, size_t *prefix_bytes);

/* What is remembered from before a question to the file system. Plain data: copy and drop it as you like. */
struct backpath_ticket {
    uint64_t opaque[3];
};

void backpath_take_ticket(const backpath_cache *cache, const char *path, size_t path_bytes,
                          struct backpath_ticket *ticket);

/* Keeps what the file system said of a path since the ticket was taken: an entry, or NULL for nothing. Returns 1 if it is
 * kept, and 0 if not: a change came between, the path is not canonical, or the kind is none of the three. */
int backpath_insert(const backpath_cache *cache, const struct backpath_ticket *ticket, const char *path,
                    size_t path_bytes, const struct backpath_entry *entry, const backpath_principal *principal);

enum {
    BACKPATH_CHANGE_ENTRY = 0,      /* a name that is no directory, before or after; also a new directory */
    BACKPATH_CHANGE_SUBTREE = 1,    /* a directory that is removed, renamed from or to, mounted over or unmounted */
    BACKPATH_CHANGE_PERMISSION = 2, /* a directory's owner, group, mode or access control list */
    BACKPATH_CHANGE_INODE = 3       /* the attributes of an object that has several names, or had */
};

/* One thing that changes. */
struct backpath_change_item {
    const char *path;
    size_t path_bytes;
    uint64_t inode; /* of BACKPATH_CHANGE_INODE, which has no path */
    uint32_t kind;
};

/* A change of the file system that is under way: what it concerns is a miss and is not kept. */
typedef struct backpath_change backpath_change;

/* Begins a change, in time that does not depend on how much is cached. NULL, and nothing has begun, if a path is not
 * canonical or a kind is unknown. `items` may be NULL if `count` is 0. */
backpath_change *backpath_begin_change(const backpath_cache *cache, const struct backpath_change_item *items,
                                       size_t count);
/* Ends it: no look-up from now on is answered by what was there before. NULL is allowed. */
void backpath_end_change(backpath_change *change);

/* Forgets a path and everything below it, for whoever hears of a change only after it happened. Returns 1, or 0 if the path
 * is not canonical. */
int backpath_invalidate(const backpath_cache *cache, const char *path, size_t path_bytes);

#ifdef __cplusplus
}
#endif

#endif
