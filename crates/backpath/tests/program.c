/* Uses the interface for C as a program would: looks up, inserts, changes, and meets what is refused. */
#include <stdio.h>
#include <string.h>

#include "backpath.h"

#define CHECK(what)                                                                                                    \
    if (!(what)) {                                                                                                     \
        fprintf(stderr, "line %d: %s failed\n", __LINE__, #what);                                                      \
        return 1;                                                                                                      \
    }

static int look(const backpath_cache *cache, const char *path, const backpath_principal *who,
                struct backpath_entry *entry, size_t *prefix_bytes) {
    return backpath_lookup(cache, path, strlen(path), who, entry, prefix_bytes);
}

static int keep(const backpath_cache *cache, const char *path, const struct backpath_entry *entry,
                const backpath_principal *who) {
    struct backpath_ticket ticket;
    backpath_take_ticket(cache, path, strlen(path), &ticket);
    return backpath_insert(cache, &ticket, path, strlen(path), entry, who);
}

static struct backpath_change_item item(uint32_t kind, const char *path) {
    struct backpath_change_item item = {path, strlen(path), 0, kind};
    return item;
}

static int principals_and_entries(backpath_cache *cache, backpath_principal *reader) {
    struct backpath_entry file = {7, 70, 1, BACKPATH_FILE}, directory = {6, 60, 2, BACKPATH_DIRECTORY}, found;
    size_t bytes = 0;
    const uint32_t groups[] = {30, 20}, sorted[] = {20, 30};
    backpath_principal *one = backpath_principal_new(cache, 1, 10, groups, 2, 0);
    backpath_principal *same = backpath_principal_new(cache, 1, 10, sorted, 2, 0);
    backpath_principal *fewer = backpath_principal_new(cache, 1, 10, sorted, 1, 0);
    backpath_principal *more = backpath_principal_new(cache, 1, 10, groups, 2, BACKPATH_DAC_READ_SEARCH);
    CHECK(one && same && fewer && more && !backpath_principal_new(cache, 1, 10, NULL, 0, 16));

    CHECK(look(cache, "/srv/data/7", one, &found, &bytes) == BACKPATH_MISS);
    CHECK(keep(cache, "/srv/data", &directory, one) && keep(cache, "/srv/data/7", &file, one));
    CHECK(look(cache, "/srv/data/7", one, &found, &bytes) == BACKPATH_HIT);
    CHECK(found.inode == 7 && found.data == 70 && bytes == 11);
    CHECK(look(cache, "/srv/data/7", same, NULL, NULL) == BACKPATH_HIT);
    CHECK(look(cache, "/srv/data/7", fewer, NULL, NULL) == BACKPATH_MISS);
    CHECK(look(cache, "/srv/data/7", more, NULL, NULL) == BACKPATH_MISS);
    CHECK(look(cache, "/srv/data/7", reader, NULL, NULL) == BACKPATH_MISS);
    CHECK(look(cache, "/srv/data/8/9", one, &found, &bytes) == BACKPATH_PREFIX && found.data == 60 && bytes == 9);
    CHECK(keep(cache, "/srv/data/8", NULL, one));
    CHECK(look(cache, "/srv/data/8", one, NULL, &bytes) == BACKPATH_NEGATIVE && bytes == 11);
    CHECK(look(cache, "/srv/data/8/9", one, NULL, &bytes) == BACKPATH_NEGATIVE && bytes == 11);

    const char *bad[] = {"", "srv", "/srv/", "/srv//data", "/srv/../data", "/./srv"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(look(cache, bad[i], one, NULL, NULL) == BACKPATH_MISS && !keep(cache, bad[i], &file, one));
        CHECK(!backpath_invalidate(cache, bad[i], strlen(bad[i])));
    }
    CHECK(backpath_lookup(cache, NULL, 0, one, NULL, NULL) == BACKPATH_MISS);
    file.kind = 3;
    CHECK(!keep(cache, "/srv/data/9", &file, one));
    backpath_principal_free(one);
    backpath_principal_free(same);
    backpath_principal_free(fewer);
    backpath_principal_free(more);
    return 0;
}

static int changes(backpath_cache *cache, backpath_principal *reader) {
    struct backpath_entry file = {8, 80, 1, BACKPATH_FILE}, linked = {9, 90, 2, BACKPATH_FILE}, found;
    CHECK(keep(cache, "/a/b/c", &file, reader) && keep(cache, "/z", &file, reader));
    struct backpath_change_item rename[] = {item(BACKPATH_CHANGE_SUBTREE, "/a"), item(BACKPATH_CHANGE_SUBTREE, "/b")};
    struct backpath_ticket before;
    backpath_take_ticket(cache, "/a/b/d", 6, &before);
    backpath_change *open = backpath_begin_change(cache, rename, 2);
    CHECK(open && look(cache, "/a/b/c", reader, NULL, NULL) == BACKPATH_MISS);
    CHECK(!keep(cache, "/a/b/c", &file, reader));
    CHECK(look(cache, "/z", reader, NULL, NULL) == BACKPATH_HIT);
    backpath_end_change(open);
    CHECK(look(cache, "/a/b/c", reader, NULL, NULL) == BACKPATH_MISS);
    CHECK(!backpath_insert(cache, &before, "/a/b/d", 6, &file, reader));
    CHECK(keep(cache, "/a/b/c", &file, reader) && look(cache, "/a/b/c", reader, NULL, NULL) == BACKPATH_HIT);

    struct backpath_change_item permission = item(BACKPATH_CHANGE_PERMISSION, "/a");
    backpath_end_change(backpath_begin_change(cache, &permission, 1));
    CHECK(look(cache, "/a/b/c", reader, NULL, NULL) != BACKPATH_HIT);
    struct backpath_change_item entry = item(BACKPATH_CHANGE_ENTRY, "/z");
    backpath_end_change(backpath_begin_change(cache, &entry, 1));
    CHECK(look(cache, "/z", reader, NULL, NULL) == BACKPATH_MISS);

    CHECK(keep(cache, "/one", &linked, reader));
    linked.data = 91;
    CHECK(keep(cache, "/two", &linked, reader));
    CHECK(look(cache, "/one", reader, &found, NULL) == BACKPATH_HIT && found.data == 91);
    struct backpath_change_item inode = {NULL, 0, 9, BACKPATH_CHANGE_INODE};
    backpath_end_change(backpath_begin_change(cache, &inode, 1));
    CHECK(look(cache, "/one", reader, NULL, NULL) == BACKPATH_MISS);

    CHECK(keep(cache, "/x/y", &file, reader) && backpath_invalidate(cache, "/x", 2));
    CHECK(look(cache, "/x/y", reader, NULL, NULL) == BACKPATH_MISS);
    struct backpath_change_item bad[] = {item(BACKPATH_CHANGE_ENTRY, "/z"), item(4, "/z"), item(0, "z")};
    CHECK(!backpath_begin_change(cache, bad, 2) && !backpath_begin_change(cache, bad + 2, 1));
    CHECK(keep(cache, "/z", &file, reader));
    return 0;
}

static int bounds_and_the_order_of_freeing(void) {
    struct backpath_options options = {0};
    options.grants = 7;
    CHECK(!backpath_new(&options));
    options.grants = 0;
    options.capacity = UINT64_MAX;
    CHECK(!backpath_new(&options));
    options.capacity = 16;
    backpath_cache *cache = backpath_new(&options), *other = backpath_new(NULL);
    CHECK(cache && other);
    backpath_principal *reader = backpath_principal_new(cache, 1, 1, NULL, 0, 0);
    char path[32];
    for (int i = 0; i < 1000; i++) {
        struct backpath_entry file = {(uint64_t)i, 0, 0, BACKPATH_FILE};
        snprintf(path, sizeof path, "/%d", i);
        CHECK(keep(cache, path, &file, reader));
        CHECK(keep(other, path, &file, reader));
        CHECK(look(other, path, reader, NULL, NULL) == BACKPATH_MISS);
    }
    CHECK(backpath_len(cache) < 200 && backpath_evictions(cache) > 800);
    struct backpath_change_item root = item(BACKPATH_CHANGE_SUBTREE, "/");
    backpath_change *open = backpath_begin_change(cache, &root, 1);
    backpath_free(cache);
    backpath_end_change(open);
    backpath_principal_free(reader);
    backpath_free(other);
    backpath_free(NULL);
    backpath_principal_free(NULL);
    backpath_end_change(NULL);
    return 0;
}

int main(void) {
    backpath_cache *cache = backpath_new(NULL);
    CHECK(cache && backpath_len(cache) == 0);
    backpath_principal *reader = backpath_principal_new(cache, 1000, 1000, NULL, 0, 0);
    CHECK(reader);
    int failed = principals_and_entries(cache, reader) || changes(cache, reader) || bounds_and_the_order_of_freeing();
    backpath_principal_free(reader);
    backpath_free(cache);
    return failed;
}
