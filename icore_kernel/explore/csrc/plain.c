/* Plain blocks: every successor commits, and no step is kept. Successors go into batches, and batches into the store.
 *
 * On two threads one makes the batches of the blocks to come while the other puts them into the store, in their order: a level's
 * states are all there when it begins, and what a block comes to does not depend on what is found meanwhile. So the result is the
 * same on one thread, where each batch is put in as soon as it is full. */
#include "plain.h"

#include <stdlib.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

enum { PREFETCH = 16, RECENT_BYTES = 1 << 18 };

/* ---- room -------------------------------------------------------------------------------------------------------- */

bool make_batch(const Search *search, Batch *batch, bool counts)
{
    batch->arrivals = malloc(BATCH * sizeof *batch->arrivals);
    batch->words = malloc(BATCH * (size_t)search->k * sizeof *batch->words);
    if (counts) {
        const size_t counters = (size_t)search->programs[EXPAND].counters + 1;
        batch->counts = malloc(counters * sizeof *batch->counts);
        batch->firsts = malloc(counters * sizeof *batch->firsts);
        batch->tally.committed = malloc(((size_t)search->update_count + 1) * sizeof *batch->tally.committed);
        if (!batch->counts || !batch->firsts || !batch->tally.committed) return false;
    }
    return batch->arrivals && batch->words;
}

void free_batch(Batch *batch)
{
    free(batch->arrivals);
    free(batch->words);
    free(batch->counts);
    free(batch->firsts);
    free(batch->tally.committed);
}

bool plain_prepare(Search *search)
{
    const size_t k = (size_t)search->k;
    Plain *plain = search->plain = calloc(1, sizeof *plain);
    if (!plain) return false;
    size_t places = 64;
    while (2 * places * k * sizeof(uint64_t) <= RECENT_BYTES) places *= 2;
    plain->recent_mask = places - 1;
    plain->recent = malloc(places * k * sizeof(uint64_t));
    plain->enabled = calloc(BLOCK * (size_t)search->enabled_words + 1, sizeof *plain->enabled);
    return plain->recent && plain->enabled && make_batch(search, &plain->batches[0], false);
}

void plain_free(Search *search)
{
    Plain *plain = search->plain;
    if (!plain) return;
    for (int place = 0; place < RING; place++) free_batch(&plain->batches[place]);
    free(plain->expand.counts);
    free(plain->expand.firsts);
    free(plain->tally.committed);
    free(plain->recent);
    free(plain->enabled);
    free(plain);
}

/* ---- into the store ---------------------------------------------------------------------------------------------- */

ALWAYS void put_batch(Search *search, const Batch *batch, const int k, const bool expected)
{
    Store *store = &search->store;
    const Arrival *arrivals = batch->arrivals;
    const int count = batch->count;
    for (int place = 0; !expected && place < 2 * PREFETCH && place < count; place++) expect_slot(store, arrivals[place].hash);
    for (int place = 0; place < count; place++) {
        if (!expected && place + 2 * PREFETCH < count) expect_slot(store, arrivals[place + 2 * PREFETCH].hash);
        if (place + PREFETCH < count) expect_state(store, k, arrivals[place + PREFETCH].hash);
        const Arrival *own = &arrivals[place];
        const uint64_t *words = batch->words + (size_t)place * (size_t)k;
        uint32_t slot = 0;
        if (find_state(store, words, k, own->hash, &slot) == NOWHERE &&
            admit(search, words, k, own->hash, slot, own->parent, false) == NOWHERE)
            return;
    }
}

void put_plain(Search *search, const Batch *batch, bool expected)
{
    switch (search->k) {
    case 1: put_batch(search, batch, 1, expected); break;
    case 2: put_batch(search, batch, 2, expected); break;
    case 3: put_batch(search, batch, 3, expected); break;
    case 4: put_batch(search, batch, 4, expected); break;
    default: put_batch(search, batch, search->k, expected); break;
    }
}

/* ---- successors -------------------------------------------------------------------------------------------------- */

static void hand_over(Maker *maker, bool last);

/* Whether batches are put in as soon as they are full: there is one thread. */
static inline bool in_turn(const Maker *maker) { return maker->expand == &maker->search->programs[EXPAND]; }

/* The successor by one move of one row; whether it is another state. */
ALWAYS bool step(Maker *maker, const int k, const uint64_t *source, int row, int number)
{
    Search *search = maker->search;
    Batch *batch = maker->batch;
    const Plain *plain = search->plain;
    const Move *move = &search->moves[number];
    const uint64_t *keep = search->masks + (size_t)number * 2 * (size_t)k;
    uint64_t *words = batch->words + (size_t)batch->count * (size_t)k;
    for (int word = 0; word < k; word++) words[word] = (source[word] & keep[word]) | keep[k + word];
    for (int32_t place = move->values_begin; place < move->values_end; place++) {
        const Value *value = &search->values[place];
        words[value->word] |= (uint64_t)plane_bit(&maker->expand->planes[maker->expand->kept[value->output]], row) << value->bit;
    }
    if (same_words(words, source, k)) return false;
    const uint64_t hash = hash_of(words, k);
    uint64_t *recent = plain->recent + (hash & plain->recent_mask) * (uint64_t)k;
    if (same_words(words, recent, k)) return true;
    for (int word = 0; word < k; word++) recent[word] = words[word];
    if (in_turn(maker)) expect_slot(&search->store, hash);
    batch->arrivals[batch->count++] = (Arrival){hash, maker->next + (uint32_t)row};
    if (batch->count == BATCH) hand_over(maker, false);
    return true;
}

/* The steps of a block: what is counted row by row goes into `tally`. */
ALWAYS void take_steps(Maker *maker, const int k, int count, Tally *tally)
{
    const Search *search = maker->search;
    const int across = search->enabled_words;
    const Program *expand = maker->expand;
    for (int row = 0; row < count; row++) {
        const uint64_t *enabled = search->plain->enabled + (size_t)row * (size_t)across;
        const uint64_t *source = state_words(&search->store, maker->next + (uint32_t)row, k);
        int64_t successors = 0, moved = 0;
        for (int word = 0; word < across; word++)
            for (uint64_t left = enabled[word]; left; left &= left - 1, successors++) {
                moved += step(maker, k, source, row, 64 * word + lowest(left));
                if (maker->stopped) return;
            }
        tally->stutters += successors - moved;
        if (moved) continue;
        tally->quiet++;
        if (search->ends >= 0 && plane_bit(&expand->planes[expand->kept[search->ends]], row)) continue;
        if (!tally->unended++) tally->first_unended = maker->next + (uint32_t)row;
    }
}

static void note_block(Maker *maker, int count, const Tally *tally)
{
    const Search *search = maker->search;
    *maker->tally = *tally;
    for (int32_t number = 0; number < search->move_count; number++) {
        const Move *move = &search->moves[number];
        const uint64_t *lanes = maker->expand->planes[maker->expand->kept[move->candidates]].lane;
        int64_t commits = 0;
        for (int lane = 0; lane * 64 < count; lane++) {
            const int left = count - 64 * lane;
            commits += __builtin_popcountll(left < 64 ? lanes[lane] & (((uint64_t)1 << left) - 1) : lanes[lane]);
        }
        tally->committed[move->update] += commits;
    }
    maker->next += (uint32_t)count;
}

void make_block(Maker *maker)
{
    const Search *search = maker->search;
    const int k = search->k, count = block_ahead(search, maker->next);
    Tally tally = *maker->tally;
    run_program(maker->expand, state_words(&search->store, maker->next, k), k, count, NULL, maker->next);
    find_enabled(search, count, search->plain->enabled, false);
    switch (k) {
    case 1: take_steps(maker, 1, count, &tally); break;
    case 2: take_steps(maker, 2, count, &tally); break;
    case 3: take_steps(maker, 3, count, &tally); break;
    case 4: take_steps(maker, 4, count, &tally); break;
    default: take_steps(maker, k, count, &tally); break;
    }
    /* A block counts when all its successors are in the store; what waits for the other thread takes the counts along. */
    if (in_turn(maker)) hand_over(maker, true);
    if (maker->stopped) return;
    note_block(maker, count, &tally);
    if (!in_turn(maker)) hand_over(maker, true);
}

static void make_recent(const Search *search)
{
    Plain *plain = search->plain;
    const size_t size = (size_t)search->k * sizeof(uint64_t);
    if (plain->recent_there) return;
    for (uint64_t place = 0; place <= plain->recent_mask; place++)
        memcpy(plain->recent + place * (uint64_t)search->k, state_words(&search->store, 0, search->k), size);
    plain->recent_there = true;
}

static void hand_over(Maker *maker, bool last)
{
    Search *search = maker->search;
    Batch *batch = maker->batch;
    if (in_turn(maker)) {
        put_plain(search, batch, true);
        batch->count = 0;
        maker->stopped = search->status != MORE;
        return;
    }
#ifdef THREADS
    publish(maker, last);
#else
    (void)last;
#endif
}

void plain_advance(Search *search, int64_t blocks, int threads)
{
    make_recent(search);
#ifdef THREADS
    if (threads > 1 && advance_on_two(search, blocks)) return;
#else
    (void)threads;
#endif
    Maker maker = {search, &search->programs[EXPAND], &search->tally, &search->plain->batches[0], search->next, 0, false};
    maker.batch->count = 0;
    for (; blocks > 0 && search->next < search->level_end && search->status == MORE; blocks--) {
        make_block(&maker);
        if (maker.stopped) return;
        search->next = maker.next;
        search_look(search, search->next == search->level_end);
    }
}
