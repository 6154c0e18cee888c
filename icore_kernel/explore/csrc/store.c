/* For mmap's anonymous pages. */
#define _GNU_SOURCE
#include "store.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#define HUGE_PAGE ((size_t)1 << 21)
#endif

#define FIRST_BITS 14

/* Zeroed memory, in huge pages where the system has them; NULL when there is none. */
static void *new_pages(size_t size)
{
#ifdef HUGE_PAGE
    if (size < HUGE_PAGE) return calloc(1, size);
    char *begin = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)begin % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(begin, before);
    munmap(begin + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(begin + before, size, MADV_HUGEPAGE);
#endif
    return begin + before;
#else
    return calloc(1, size);
#endif
}

static void drop_pages(void *begin, size_t size)
{
    if (!begin) return;
#ifdef HUGE_PAGE
    if (size >= HUGE_PAGE) {
        munmap(begin, size);
        return;
    }
#endif
    free(begin);
}

static size_t table_size(const Store *store, int bits) { return (store->keyed ? sizeof(uint64_t) : sizeof(uint32_t)) << bits; }

static size_t words_size(const Store *store) { return (size_t)CHUNK * (size_t)store->k * sizeof(uint64_t); }

static bool affordable(const Store *store, size_t more) { return !store->most_bytes || store->bytes + more <= store->most_bytes; }

/* A load of at most 5/8. */
static void set_bits(Store *store, int bits)
{
    const uint64_t most = ((uint64_t)5 << bits) / 8;
    store->bits = bits;
    store->grow_at = most < MOST_STATES ? (uint32_t)most : MOST_STATES;
}

/* A new table, empty. False: no memory. */
static bool new_table(Store *store)
{
    void *table = new_pages(table_size(store, store->bits));
    store->keys = store->keyed ? table : NULL;
    store->slots = store->keyed ? NULL : table;
    store->bytes += table_size(store, store->bits);
    return table != NULL;
}

static void drop_table(Store *store)
{
    drop_pages(store->keyed ? (void *)store->keys : (void *)store->slots, table_size(store, store->bits));
    store->keys = NULL;
    store->slots = NULL;
    store->bytes -= table_size(store, store->bits);
}

bool store_open(Store *store, int k, size_t most_bytes)
{
    memset(store, 0, sizeof *store);
    store->k = k;
    store->most_bytes = most_bytes;
    set_bits(store, FIRST_BITS);
    return new_table(store);
}

bool store_by_keys(Store *store)
{
    drop_table(store);
    store->keyed = true;
    return new_table(store);
}

void store_close(Store *store)
{
    for (uint32_t place = 0; place < store->chunk_count; place++) {
        drop_pages(store->chunks[place].words, words_size(store));
        free(store->chunks[place].parents);
        free(store->chunks[place].infeasible);
    }
    free(store->chunks);
    drop_table(store);
    memset(store, 0, sizeof *store);
}

static bool add_chunk(Store *store)
{
    const size_t parents = CHUNK * sizeof(uint32_t), flags = CHUNK / 8;
    if (!affordable(store, words_size(store) + parents + flags)) return false;
    if (store->chunk_count == store->chunk_room) {
        const uint32_t room = store->chunk_room ? 2 * store->chunk_room : 16;
        Chunk *chunks = realloc(store->chunks, room * sizeof *chunks);
        if (!chunks) return false;
        store->chunks = chunks;
        store->chunk_room = room;
    }
    Chunk chunk = {new_pages(words_size(store)), malloc(parents), calloc(1, flags)};
    if (!chunk.words || !chunk.parents || !chunk.infeasible) {
        drop_pages(chunk.words, words_size(store));
        free(chunk.parents);
        free(chunk.infeasible);
        return false;
    }
    store->chunks[store->chunk_count++] = chunk;
    store->bytes += words_size(store) + parents + flags;
    return true;
}

/* Every state into an empty table, in their order. */
static void fill_table(Store *store)
{
    enum { AHEAD = 32 };
    const int k = store->k;
    const uint32_t mask = number_mask(store);
    uint64_t hashes[AHEAD];
    for (uint32_t begin = 0; begin < store->count; begin += AHEAD) {
        const uint32_t length = store->count - begin < AHEAD ? store->count - begin : AHEAD;
        for (uint32_t step = 0; step < length; step++) {
            hashes[step] = hash_of(state_words(store, begin + step, k), k);
            if (store->keyed)
                expect_key(store, hashes[step]);
            else
                expect_slot(store, hashes[step]);
        }
        for (uint32_t step = 0; step < length; step++) {
            uint32_t place = slot_of(store, hashes[step]);
            if (store->keyed) {
                while (store->keys[place]) place = (place + 1) & mask;
                store->keys[place] = *state_words(store, begin + step, k);
            } else {
                while (store->slots[place]) place = (place + 1) & mask;
                store->slots[place] = tag_of(store, hashes[step]) | (begin + step + 1);
            }
        }
    }
}

/* A wider table: the old one is given back first, so that memory never holds both. */
static bool widen(Store *store)
{
    const int bits = store->bits < 22 ? store->bits + 2 : store->bits + 1;
    if (bits > 32 || !affordable(store, table_size(store, bits) - table_size(store, store->bits))) return false;
    drop_table(store);
    set_bits(store, bits);
    if (!new_table(store)) return false;
    fill_table(store);
    return true;
}

bool store_by_numbers(Store *store)
{
    if (!store->keyed) return true;
    drop_table(store);
    store->keyed = false;
    if (!new_table(store)) {
        store->exhausted = true;
        return false;
    }
    fill_table(store);
    return true;
}

bool store_make_room(Store *store)
{
    if (store->exhausted) return false;
    if (store->count == MOST_STATES || (store->count >= store->grow_at && !widen(store)) ||
        (store->count >> CHUNK_BITS == store->chunk_count && !add_chunk(store)))
        store->exhausted = true;
    return !store->exhausted;
}
