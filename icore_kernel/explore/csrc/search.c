/* The search: made, begun, taken on block by block, and asked afterwards. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

Search *search_new(int k, int update_count, int64_t most_states, size_t most_bytes)
{
    Search *search = calloc(1, sizeof *search);
    if (!search) return NULL;
    search->k = k;
    search->update_count = update_count;
    search->most_states = most_states >= 0 && most_states < MOST_STATES ? most_states : MOST_STATES;
    search->ends = -1;
    search->tally.first_unended = -1;
    search->tally.committed = calloc((size_t)update_count + 1, sizeof *search->tally.committed);
    if (!search->tally.committed || !store_open(&search->store, k, most_bytes)) {
        search_free(search);
        return NULL;
    }
    return search;
}

void free_program(Program *program)
{
    free(program->gates);
    free(program->loads);
    free(program->kept);
    free(program->planes);
    free(program->counts);
    free(program->firsts);
}

static void free_edges(Edges *edges)
{
    free(edges->updates);
    free(edges->targets);
}

void search_free(Search *search)
{
    if (!search) return;
    for (int program = 0; program < PROGRAMS; program++) free_program(&search->programs[program]);
    for (int32_t place = 0; place < search->measure_count; place++) {
        free(search->measures[place].codes);
        free(search->measures[place].firsts);
    }
    store_close(&search->store);
    plain_free(search);
    free(search->moves);
    free(search->refused);
    free(search->masks);
    free(search->values);
    free(search->clauses);
    free(search->slots);
    free(search->stamps);
    free(search->measures);
    free(search->stops);
    free(search->tally.committed);
    free(search->block.words);
    free(search->block.enabled);
    free(search->recent);
    free(search->ahead);
    free(search->ahead_words);
    free(search->pending);
    free(search->pending_words);
    free_edges(&search->block_edges);
    free(search->edge_rows);
    free_edges(&search->edges);
    free(search->edge_counts);
    free(search);
}

bool search_prepare(Search *search)
{
    const size_t k = (size_t)search->k;
    search->enabled_words = (search->move_count + 63) / 64;
    if (!search->judging && !search->keep_edges && !plain_prepare(search)) return false;
    search->refused = calloc((size_t)search->move_count + 1, sizeof *search->refused);
    search->block.words = calloc(BLOCK * k, sizeof(uint64_t));
    search->block.enabled = calloc(BLOCK * (size_t)search->enabled_words + 1, sizeof(uint64_t));
    search->pending = calloc(BLOCK, sizeof *search->pending);
    search->pending_words = calloc(BLOCK * k, sizeof(uint64_t));
    return search->refused && search->block.words && search->block.enabled && search->pending && search->pending_words && steps_prepare(search);
}

uint32_t admit(Search *search, const uint64_t *words, int k, uint64_t hash, uint32_t slot, uint32_t parent, bool infeasible)
{
    Store *store = &search->store;
    if (store->count >= search->most_states) {
        search->status = FULL;
        return NOWHERE;
    }
    if (store->count >= store->grow_at || store->count >> CHUNK_BITS == store->chunk_count) {
        if (!store_make_room(store)) {
            search->status = EXHAUSTED;
            return NOWHERE;
        }
        find_state(store, words, k, hash, &slot);
    }
    return put_state(store, words, k, hash, slot, parent, infeasible);
}

void search_admit(Search *search, const uint64_t *words, size_t count)
{
    const int k = search->k;
    Program *judge = &search->programs[JUDGE];
    for (size_t begin = 0; begin < count && !search->status; begin += BLOCK) {
        const int length = count - begin < BLOCK ? (int)(count - begin) : BLOCK;
        const uint64_t *block = words + begin * (size_t)k;
        if (search->judging) run_program(judge, block, k, length, NULL, 0);
        for (int row = 0; row < length && !search->status; row++) {
            const uint64_t *own = block + (size_t)row * (size_t)k;
            const uint64_t hash = hash_of(own, k);
            uint32_t slot = 0;
            if (find_state(&search->store, own, k, hash, &slot) != NOWHERE) continue;
            const bool infeasible = search->judging && !plane_bit(&judge->planes[judge->kept[0]], row);
            admit(search, own, k, hash, slot, NOWHERE, infeasible);
        }
    }
}

void search_begin_level(Search *search) { search->level_end = search->store.count; }

int block_ahead(const Search *search, uint32_t next)
{
    const uint32_t length = search->level_end - next, left = CHUNK - (next & (CHUNK - 1));
    const uint32_t least = length < left ? length : left;
    return least < BLOCK ? (int)least : BLOCK;
}

static void advance_judged(Search *search, int64_t blocks)
{
    for (; blocks > 0 && search->next < search->level_end && search->status == MORE; blocks--) {
        Block *block = &search->block;
        block->count = block_ahead(search, search->next);
        const size_t size = (size_t)block->count * (size_t)search->k * sizeof(uint64_t);
        memcpy(block->words, state_words(&search->store, search->next, search->k), size);
        for (int row = 0; row < block->count; row++) block->numbers[row] = search->next + (uint32_t)row;
        if (!expand_block(search, search->keep_edges)) search->status = EXHAUSTED;
        if (!going_on(search)) break;
        search->next += (uint32_t)block->count;
        note_quiet(search);
        if (search->keep_edges && !append_edges(search)) search->status = EXHAUSTED;
        search_look(search, search->next == search->level_end);
    }
}

int search_advance(Search *search, int64_t blocks, int threads)
{
    if (search->status != MORE) return search->status;
    if (search->plain)
        plain_advance(search, blocks, threads);
    else
        advance_judged(search, blocks);
    if (search->status == MORE && search->next == search->level_end) {
        search_look(search, true);
        if (search->status == MORE) return LEVEL_DONE;
    }
    return search->status;
}

static void take_rows(Search *search, const uint32_t *numbers, int count)
{
    const int k = search->k;
    search->block.count = count;
    for (int row = 0; row < count; row++) {
        search->block.numbers[row] = numbers[row];
        memcpy(search->block.words + (size_t)row * (size_t)k, state_words(&search->store, numbers[row], k), (size_t)k * sizeof(uint64_t));
    }
}

bool search_steps(Search *search, const uint32_t *numbers, int count)
{
    search->block_edges.count = 0;
    if (!count) return true;
    take_rows(search, numbers, count);
    search->replaying = true;
    const bool done = expand_block(search, true);
    search->replaying = false;
    return done;
}

void search_values(Search *search, int program, const uint32_t *numbers, int count, uint64_t *out, int words_out)
{
    Program *own = &search->programs[program];
    uint64_t rows[BLOCK];
    take_rows(search, numbers, count);
    run_program(own, search->block.words, search->k, count, NULL, 0);
    for (int word = 0; word < words_out; word++) {
        const int begin = 64 * word, length = own->kept_count - begin < 64 ? own->kept_count - begin : 64;
        gather_rows(own, own->kept + begin, length, count, rows);
        for (int row = 0; row < count; row++) out[(size_t)row * (size_t)words_out + (size_t)word] = rows[row];
    }
}
