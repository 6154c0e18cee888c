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

static size_t slots_size(int bits) { return sizeof(uint32_t) << bits; }

static size_t words_size(const Store *store) { return (size_t)CHUNK * (size_t)store->k * sizeof(uint64_t); }

static bool affordable(const Store *store, size_t more) { return !store->most_bytes || store->bytes + more <= store->most_bytes; }

/* A load of at most 5/8. */
static void set_bits(Store *store, int bits)
{
    const uint64_t most = ((uint64_t)5 << bits) / 8;
    store->bits = bits;
    store->grow_at = most < MOST_STATES ? (uint32_t)most : MOST_STATES;
}

bool store_open(Store *store, int k, size_t most_bytes)
{
    memset(store, 0, sizeof *store);
    store->k = k;
    store->most_bytes = most_bytes;
    set_bits(store, FIRST_BITS);
    store->slots = new_pages(slots_size(FIRST_BITS));
    store->bytes = slots_size(FIRST_BITS);
    return store->slots != NULL;
}

void store_close(Store *store)
{
    for (uint32_t place = 0; place < store->chunk_count; place++) {
        drop_pages(store->chunks[place].words, words_size(store));
        free(store->chunks[place].parents);
        free(store->chunks[place].infeasible);
    }
    free(store->chunks);
    drop_pages(store->slots, slots_size(store->bits));
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

/* The slots anew from the states in their order: the old ones are given back first, so that memory never holds both. */
static bool widen(Store *store)
{
    enum { AHEAD = 32 };
    const int bits = store->bits < 22 ? store->bits + 2 : store->bits + 1;
    if (bits > 32 || !affordable(store, slots_size(bits) - slots_size(store->bits))) return false;
    drop_pages(store->slots, slots_size(store->bits));
    store->bytes += slots_size(bits) - slots_size(store->bits);
    set_bits(store, bits);
    store->slots = new_pages(slots_size(bits));
    if (!store->slots) return false;
    const uint32_t numbers = number_mask(store);
    uint64_t hashes[AHEAD];
    for (uint32_t begin = 0; begin < store->count; begin += AHEAD) {
        const uint32_t length = store->count - begin < AHEAD ? store->count - begin : AHEAD;
        for (uint32_t step = 0; step < length; step++) {
            hashes[step] = hash_of(state_words(store, begin + step, store->k), store->k);
            expect_slot(store, hashes[step]);
        }
        for (uint32_t step = 0; step < length; step++) {
            uint32_t place = slot_of(store, hashes[step]);
            while (store->slots[place]) place = (place + 1) & numbers;
            store->slots[place] = tag_of(store, hashes[step]) | (begin + step + 1);
        }
    }
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
