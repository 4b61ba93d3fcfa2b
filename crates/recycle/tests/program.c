/* Uses the interface for C as a program would: maps a file, pins its pages, and meets errors. argv[1]: a file of 40 pages. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "recycle.h"

#define CHECK(what)                                                                                                    \
    if (!(what)) {                                                                                                     \
        fprintf(stderr, "%s failed: %s\n", #what, recycle_last_error());                                               \
        return 1;                                                                                                      \
    }

int main(int argc, char **argv) {
    CHECK(argc == 2);
    struct recycle_options options = {0};
    options.memory = 8 * 4096;
    options.policy = RECYCLE_FR;

    recycle_region *region = recycle_open(argv[1], &options);
    CHECK(region && recycle_len(region) == 40 * 4096);
    for (uint64_t page = 0; page < 40; page++) {
        char *bytes = recycle_pin_mut(region, page);
        CHECK(bytes);
        snprintf(bytes, 4096, "page %d", (int)page);
        recycle_unpin(region, page);
    }
    CHECK(recycle_pin(region, 40) == NULL && strstr(recycle_last_error(), "not within"));
    CHECK(recycle_sync(region, 0, UINT64_MAX) == 0);
    CHECK(recycle_advise(region, 0, UINT64_MAX, 9) == -1 && strstr(recycle_last_error(), "0 to 4"));
    recycle_close(region);

    recycle_mapping *mapping = recycle_map(argv[1], &options);
    CHECK(mapping && recycle_map_len(mapping) == 40 * 4096);
    char *data = recycle_map_data(mapping);
    CHECK(strcmp(data + 33 * 4096, "page 33") == 0);
    char bytes[8];
    CHECK(recycle_map_read(mapping, 7 * 4096, bytes, sizeof bytes) == 0 && strcmp(bytes, "page 7") == 0);
    CHECK(recycle_map_write(mapping, 39 * 4096, "changed", 8) == 0);
    data[0] = 'P';
    CHECK(recycle_map_advise(mapping, 0, UINT64_MAX, RECYCLE_SEQUENTIAL) == 0);
    CHECK(recycle_map_sync(mapping, 0, UINT64_MAX) == 0);
    CHECK(recycle_map_resize(mapping, 41 * 4096) == 0);
    CHECK(((char *)recycle_map_data(mapping))[40 * 4096] == 0);
    recycle_map_close(mapping);
    recycle_map_close(NULL);

    options.memory = 1;
    CHECK(recycle_open(argv[1], &options) == NULL && strstr(recycle_last_error(), "too small"));
    CHECK(recycle_open("/no/such/file", NULL) == NULL && strstr(recycle_last_error(), "/no/such/file"));
    options.memory = 0;
    options.policy = 4;
    CHECK(recycle_open(argv[1], &options) == NULL && strstr(recycle_last_error(), "policy"));
    return 0;
}
