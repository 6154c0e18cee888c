/* The states found, in the order of discovery, with a hash table of their numbers. The queue of the search is the store itself. */
#ifndef ICORE_STORE_H
#define ICORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_BITS 18
#define CHUNK ((uint32_t)1 << CHUNK_BITS)
#define NOWHERE UINT32_MAX
#define MOST_STATES (UINT32_MAX - 1)

#define MOST_CHUNKS ((size_t)1 << (32 - CHUNK_BITS))

/* Words and parents lie one after the other, in memory or (spilled) in the store's file. */
typedef struct {
    uint64_t *words; /* CHUNK states of k words */
    uint32_t *parents; /* the state it was first reached from; NOWHERE: an initial state */
    uint64_t *infeasible; /* a bit a state */
} Chunk;

/* Slots hold 0, or in the low `bits` the number of a state plus 1 and above it as many bits of its hash as there is room for. */
typedef struct {
    int k;
    uint32_t count, infeasible_count;
    Chunk *chunks; /* room for MOST_CHUNKS, so that one thread may read while another adds */
    uint32_t chunk_count;
    uint32_t *slots;
    int bits;
    uint32_t grow_at;
    size_t bytes, most_bytes; /* of memory in use; may be used (0: no bound) */
    int file; /* where the states go when memory ends, or -1 */
    size_t spill_at, spilled; /* from so many bytes on (0: only at most_bytes); bytes in the file */
    bool exhausted; /* memory ended, the operating system's or that of most_bytes, or the disk did */
} Store;

bool store_open(Store *store, int k, size_t most_bytes);
void store_close(Store *store);
/* A file for states that memory has no room for, used from `spill_at` bytes on, or where memory ends; the caller may close his own. */
void store_spill_to(Store *store, int file, size_t spill_at);
/* Whether so many bytes more may be taken, after the states went to the file where that helps. */
bool store_affords(Store *store, size_t more);
/* False, with `exhausted` set, when there is no room for one more state. */
bool store_make_room(Store *store);

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xC2B2AE3D27D4EB4Fu;
    return x ^ x >> 32;
}

/* Each word goes its own way, so that they are mixed side by side. */
static inline uint64_t hash_of(const uint64_t *words, const int k)
{
    uint64_t hash = words[0], factor = 0x165667B19E3779F9u;
    for (int word = 1; word < k; word++, factor += 0x27D4EB2F165667C6u) {
        const uint64_t spread = words[word] * factor;
        hash += spread ^ (spread >> 32 | spread << 32) * 0x9E3779B97F4A7C15u;
    }
    return mix(hash);
}

static inline uint32_t slot_of(const Store *store, uint64_t hash) { return (uint32_t)(hash >> (64 - store->bits)); }

static inline uint32_t number_mask(const Store *store) { return (uint32_t)(((uint64_t)1 << store->bits) - 1); }

/* The bits of the hash that stand above a number: its lowest ones, while the place comes from its highest. */
static inline uint32_t tag_of(const Store *store, uint64_t hash) { return (uint32_t)(hash << store->bits); } /* 0 for 32 bits */

static inline uint64_t *state_words(const Store *store, uint32_t number, const int k)
{
    return store->chunks[number >> CHUNK_BITS].words + (size_t)(number & (CHUNK - 1)) * (size_t)k;
}

static inline uint32_t *state_parent(const Store *store, uint32_t number)
{
    return store->chunks[number >> CHUNK_BITS].parents + (number & (CHUNK - 1));
}

static inline bool is_infeasible(const Store *store, uint32_t number)
{
    const uint32_t place = number & (CHUNK - 1);
    return store->chunks[number >> CHUNK_BITS].infeasible[place >> 6] >> (place & 63) & 1;
}

static inline bool same_words(const uint64_t *a, const uint64_t *b, const int k)
{
    uint64_t differs = 0;
    for (int word = 0; word < k; word++) differs |= a[word] ^ b[word];
    return !differs;
}

/* The number of a state, or NOWHERE and the empty slot where it would stand. */
static inline uint32_t find_state(const Store *store, const uint64_t *words, const int k, uint64_t hash, uint32_t *slot)
{
    const uint32_t numbers = number_mask(store), tag = tag_of(store, hash);
    for (uint32_t place = slot_of(store, hash);; place = (place + 1) & numbers) {
        const uint32_t entry = store->slots[place];
        if (!entry) {
            *slot = place;
            return NOWHERE;
        }
        if (!((entry ^ tag) & ~numbers)) {
            const uint32_t number = (entry & numbers) - 1;
            if (same_words(state_words(store, number, k), words, k)) return number;
        }
    }
}

/* Bring the words nearer that `find_state` will compare with. */
static inline void expect_state(const Store *store, const int k, uint64_t hash)
{
    const uint32_t entry = store->slots[slot_of(store, hash)];
    if (entry && !((entry ^ tag_of(store, hash)) & ~number_mask(store))) {
        const uint64_t *words = state_words(store, (entry & number_mask(store)) - 1, k);
        __builtin_prefetch(words);
        if (k > 1) __builtin_prefetch(words + k - 1);
    }
}

static inline void expect_slot(const Store *store, uint64_t hash) { __builtin_prefetch(store->slots + slot_of(store, hash)); }

/* Add a state that is not there; there is room; `slot` as find_state left it after room was made. */
static inline uint32_t put_state(Store *store, const uint64_t *words, const int k, uint64_t hash, uint32_t slot, uint32_t parent, bool infeasible)
{
    const uint32_t number = store->count++;
    uint64_t *own = state_words(store, number, k);
    for (int word = 0; word < k; word++) own[word] = words[word];
    *state_parent(store, number) = parent;
    if (infeasible) {
        const uint32_t place = number & (CHUNK - 1);
        store->chunks[number >> CHUNK_BITS].infeasible[place >> 6] |= (uint64_t)1 << (place & 63);
        store->infeasible_count++;
    }
    store->slots[slot] = tag_of(store, hash) | (number + 1);
    return number;
}

#endif
