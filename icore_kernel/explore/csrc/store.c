/* For mmap's anonymous pages, and mremap. */
#define _GNU_SOURCE
#include "store.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
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

/* Zeroed memory in place of other, less of it, which is gone even where there is none (NULL). The system's pages are kept where that
 * is possible: to clear them is many times cheaper than to be given new ones. */
static void *wider_pages(void *old, size_t old_size, size_t size)
{
#ifdef MREMAP_FIXED
    if (old && old_size >= HUGE_PAGE) {
        char *begin = new_pages(size);
        if (begin && mremap(old, old_size, old_size, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == begin) {
            memset(begin, 0, old_size);
            return begin;
        }
        drop_pages(old, old_size);
        return begin;
    }
#endif
    drop_pages(old, old_size);
    return new_pages(size);
}

static size_t table_size(int bits) { return sizeof(uint32_t) << bits; }

static size_t words_size(const Store *store) { return (size_t)CHUNK * (size_t)store->k * sizeof(uint64_t); }

static size_t chunk_size(const Store *store) { return words_size(store) + CHUNK * sizeof(uint32_t); }

#define FLAGS_SIZE ((size_t)CHUNK / 8)

/* A load of at most 5/8. */
static void set_bits(Store *store, int bits)
{
    const uint64_t most = ((uint64_t)5 << bits) / 8;
    store->bits = bits;
    store->grow_at = most < MOST_STATES ? (uint32_t)most : MOST_STATES;
}

/* A table, empty, of so many bits in place of that of now, if there is one. False: no memory. */
static bool new_table(Store *store, int bits)
{
    const size_t now = store->slots ? table_size(store->bits) : 0;
    store->slots = now ? wider_pages(store->slots, now, table_size(bits)) : new_pages(table_size(bits));
    store->bytes += table_size(bits) - now;
    set_bits(store, bits);
    return store->slots != NULL;
}

bool store_open(Store *store, int k, size_t most_bytes)
{
    memset(store, 0, sizeof *store);
    store->k = k;
    store->most_bytes = most_bytes;
    store->file = -1;
    store->chunks = calloc(MOST_CHUNKS, sizeof *store->chunks);
    return store->chunks && new_table(store, FIRST_BITS);
}

static void drop_chunk(const Store *store, const Chunk *chunk)
{
    drop_pages(chunk->words, chunk_size(store));
    free(chunk->infeasible);
}

void store_close(Store *store)
{
    for (uint32_t place = 0; place < store->chunk_count; place++) drop_chunk(store, &store->chunks[place]);
    free(store->chunks);
    drop_pages(store->slots, table_size(store->bits));
#ifdef HUGE_PAGE
    if (store->file >= 0) close(store->file);
#endif
    memset(store, 0, sizeof *store);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void store_spill_to(Store *store, int file, size_t spill_at)
{
#ifdef HUGE_PAGE
    store->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    store->spill_at = spill_at;
#else
    (void)store, (void)file, (void)spill_at;
#endif
}

#ifdef HUGE_PAGE
/* Room for one chunk more at the end of the file, on the disk: a full disk is told here, and not when a page is written. */
static bool more_file(const Store *store)
{
#ifdef __APPLE__
    fstore_t wanted = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, (off_t)chunk_size(store), 0};
    if (fcntl(store->file, F_PREALLOCATE, &wanted) == -1) return false;
    return !ftruncate(store->file, (off_t)(store->spilled + chunk_size(store)));
#else
    return !posix_fallocate(store->file, (off_t)store->spilled, (off_t)chunk_size(store));
#endif
}

static char *mapped(const Store *store, void *where)
{
    const int flags = MAP_SHARED | (where ? MAP_FIXED : 0);
    return mmap(where, chunk_size(store), PROT_READ | PROT_WRITE, flags, store->file, (off_t)store->spilled);
}

/* The chunk to the file, and the file in its place. */
static bool spill_chunk(Store *store, const Chunk *chunk)
{
    const char *from = (const char *)chunk->words;
    if (!more_file(store)) return false;
    for (size_t done = 0; done < chunk_size(store);) {
        const ssize_t written = pwrite(store->file, from + done, chunk_size(store) - done, (off_t)(store->spilled + done));
        if (written <= 0) return false;
        done += (size_t)written;
    }
    if (mapped(store, chunk->words) == MAP_FAILED) return false;
    store->spilled += chunk_size(store);
    store->bytes -= chunk_size(store);
    return true;
}
#endif

/* All chunks to the file, if there is one and they are in memory. False: that gives no memory back. */
static bool spill(Store *store)
{
#ifdef HUGE_PAGE
    if (store->file < 0 || store->spilled || !store->chunk_count) return false;
    for (uint32_t place = 0; place < store->chunk_count; place++)
        if (!spill_chunk(store, &store->chunks[place])) {
            store->exhausted = true;
            return false;
        }
    return true;
#else
    (void)store;
    return false;
#endif
}

static bool affordable(const Store *store, size_t more) { return !store->most_bytes || store->bytes + more <= store->most_bytes; }

bool store_affords(Store *store, size_t more)
{
    if (!affordable(store, more) || (store->spill_at && store->bytes + more > store->spill_at)) spill(store);
    return !store->exhausted && affordable(store, more);
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static void *chunk_memory(Store *store)
{
#ifdef HUGE_PAGE
    if (store->spilled) {
        char *begin = more_file(store) ? mapped(store, NULL) : MAP_FAILED;
        if (begin == MAP_FAILED) return NULL;
        store->spilled += chunk_size(store);
        return begin;
    }
#endif
    void *begin = new_pages(chunk_size(store));
    if (begin) store->bytes += chunk_size(store);
    return begin;
}

static bool add_chunk(Store *store)
{
    if (!store_affords(store, (store->spilled ? 0 : chunk_size(store)) + FLAGS_SIZE) && !(store->spilled && affordable(store, FLAGS_SIZE)))
        return false;
    if (store->exhausted || store->chunk_count == MOST_CHUNKS) return false;
    Chunk chunk = {chunk_memory(store), NULL, calloc(1, FLAGS_SIZE)};
    if (!chunk.words || !chunk.infeasible) {
        free(chunk.infeasible);
        return false;
    }
    chunk.parents = (uint32_t *)(void *)((char *)chunk.words + words_size(store));
    store->chunks[store->chunk_count++] = chunk;
    store->bytes += FLAGS_SIZE;
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
            expect_slot(store, hashes[step]);
        }
        for (uint32_t step = 0; step < length; step++) {
            uint32_t place = slot_of(store, hashes[step]);
            while (store->slots[place]) place = (place + 1) & mask;
            store->slots[place] = tag_of(store, hashes[step]) | (begin + step + 1);
        }
    }
}

static bool widen(Store *store)
{
    const int bits = store->bits < 22 ? store->bits + 2 : store->bits + 1;
    if (bits > 32 || !store_affords(store, table_size(bits) - table_size(store->bits)) || !new_table(store, bits)) return false;
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
