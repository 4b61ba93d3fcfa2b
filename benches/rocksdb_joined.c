/* Writes random records, reads random ones and scans them all, as db_bench does: `PROGRAM FOLDER RECORDS READS` prints
 * operations per second of each as JSON. The library that it is linked with is what is measured. */
#include <rocksdb/c.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_BYTES = 16, VALUE_BYTES = 100 };

static uint64_t random_state = 42;

/* xorshift64* */
static uint64_t next_random(void) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 2685821657736338717U;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void check(char *error) {
    if (error != NULL) {
        fprintf(stderr, "rocksdb_joined: %s\n", error);
        exit(1);
    }
}

static void make_key(char *key, uint64_t records) {
    char text[KEY_BYTES + 1];
    snprintf(text, sizeof text, "%016" PRIu64, next_random() % records);
    memcpy(key, text, KEY_BYTES);
}

static double write_records(rocksdb_t *db, uint64_t records) {
    char key[KEY_BYTES], value[VALUE_BYTES], *error = NULL;
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    double start = now_s();
    for (uint64_t i = 0; i < records; i++) {
        make_key(key, records);
        for (int place = 0; place < VALUE_BYTES; place += 4) {
            uint32_t word = next_random();
            memcpy(value + place, &word, sizeof word);
        }
        rocksdb_put(db, options, key, KEY_BYTES, value, VALUE_BYTES, &error);
        check(error);
    }
    double rate = records / (now_s() - start);
    rocksdb_writeoptions_destroy(options);
    return rate;
}

static double read_records(rocksdb_t *db, uint64_t records, uint64_t reads) {
    char key[KEY_BYTES], *error = NULL;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    double start = now_s();
    for (uint64_t i = 0; i < reads; i++) {
        size_t bytes;
        make_key(key, records);
        char *value = rocksdb_get(db, options, key, KEY_BYTES, &bytes, &error);
        check(error);
        free(value);
    }
    double rate = reads / (now_s() - start);
    rocksdb_readoptions_destroy(options);
    return rate;
}

static double scan_records(rocksdb_t *db) {
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(db, options);
    uint64_t seen = 0;
    double start = now_s();
    for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
        seen++;
    }
    double rate = seen / (now_s() - start);
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(options);
    return rate;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: %s FOLDER RECORDS READS\n", arguments[0]);
        return 2;
    }
    char *error = NULL;
    uint64_t records = strtoull(arguments[2], NULL, 10), reads = strtoull(arguments[3], NULL, 10);
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_t *db = rocksdb_open(options, arguments[1], &error);
    check(error);
    double written = write_records(db, records);
    /* Both libraries read the same shape: one sorted level. */
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
    double read = read_records(db, records, reads), scanned = scan_records(db);
    printf("{\"writes\": %.0f, \"reads\": %.0f, \"scans\": %.0f}\n", written, read, scanned);
    rocksdb_close(db);
    return 0;
}
