/* The successors of a block where something is judged or kept: found by EXPAND, looked up, judged where they are not known. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 256, PREFETCH = 12 };

#define ALWAYS static inline __attribute__((always_inline))

size_t find_enabled(const Search *search, int count, uint64_t *enabled, bool counting)
{
    const Program *expand = &search->programs[EXPAND];
    const int across = search->enabled_words;
    size_t total = 0;
    for (int word = 0; word < across; word++) {
        const int begin = 64 * word, moves = search->move_count - begin < 64 ? search->move_count - begin : 64;
        for (int group = 0; group * 64 < count; group++) {
            uint64_t rows[64], any = 0;
            for (int move = 0; move < moves; move++) {
                rows[move] = expand->planes[expand->kept[search->moves[begin + move].candidates]].lane[group];
                any |= rows[move];
            }
            uint64_t *out = enabled + (size_t)group * 64 * (size_t)across + word;
            if (any) {
                memset(rows + moves, 0, (size_t)(64 - moves) * sizeof *rows);
                transpose(rows);
            } else
                memset(rows, 0, sizeof rows);
            for (int row = 0; row < 64 && group * 64 + row < count; row++) {
                out[(size_t)row * (size_t)across] = rows[row];
                if (counting) total += (size_t)__builtin_popcountll(rows[row]);
            }
        }
    }
    return total;
}

/* Look the successors up that wait for it, in their order. */
ALWAYS void resolve_ahead(Search *search, const int k)
{
    Store *store = &search->store;
    const int count = search->ahead_count;
    const Candidate *ahead = search->ahead;
    search->ahead_count = 0;
    for (int place = 0; place < PREFETCH && place < count; place++)
        if (ahead[place].known == NOWHERE && ahead[place].hash) expect_state(store, k, ahead[place].hash);
    for (int place = 0; place < count; place++) {
        const Candidate *own = &ahead[place];
        if (place + PREFETCH < count && own[PREFETCH].known == NOWHERE && own[PREFETCH].hash) expect_state(store, k, own[PREFETCH].hash);
        const uint64_t *words = search->ahead_words + (size_t)place * (size_t)k;
        uint32_t slot = 0, target = own->known;
        if (target == NOWHERE && (own->hash || !search->judging)) {
            target = find_state(store, words, k, own->hash, &slot);
            if (target != NOWHERE) note_recent(search, k, words, own->hash, target);
        }
        if (search->judging) {
            const Move *move = &search->moves[move_of(own)];
            if (target == NOWHERE || move->after >= 0 || (store->infeasible_count && is_infeasible(store, target)) ||
                fails_before(search, move, row_of(own))) {
                const int last = search->pending_count++;
                search->pending[last] = *own;
                memcpy(search->pending_words + (size_t)last * (size_t)k, words, (size_t)k * sizeof *words);
                if (search->pending_count == BLOCK) judge_pending(search);
                if (!going_on(search)) return;
                continue;
            }
        } else if (target == NOWHERE) {
            if (search->replaying) continue;
            target = admit(search, words, k, own->hash, slot, search->block.numbers[row_of(own)], false);
            if (target == NOWHERE) return;
            note_recent(search, k, words, own->hash, target);
        }
        commit(search, own, target);
    }
}

/* The successor by one move of one row, put among those that wait. */
ALWAYS void step_ahead(Search *search, const int k, int row, int number, uint32_t edge)
{
    const Move *move = &search->moves[number];
    const uint64_t *source = search->block.words + (size_t)row * (size_t)k, *keep = search->masks + (size_t)number * 2 * (size_t)k;
    uint64_t *words = search->ahead_words + (size_t)search->ahead_count * (size_t)k;
    for (int word = 0; word < k; word++) words[word] = (source[word] & keep[word]) | keep[k + word];
    const Program *expand = &search->programs[EXPAND];
    for (int32_t place = move->values_begin; place < move->values_end; place++) {
        const Value *value = &search->values[place];
        words[value->word] |= (uint64_t)plane_bit(&expand->planes[expand->kept[value->output]], row) << value->bit;
    }
    uint64_t hash = 0; /* of what is mostly refused: not needed before it is judged */
    uint32_t known = NOWHERE;
    if (same_words(words, source, k))
        known = search->block.numbers[row];
    else if (!(search->judging && mostly_refused(search, number))) {
        hash = hash_of(words, k);
        const uint64_t *recent = recent_of(search, k, hash);
        if (same_words(words, recent, k))
            known = (uint32_t)recent[k];
        else
            expect_slot(&search->store, hash);
    }
    search->ahead[search->ahead_count++] = (Candidate){hash, edge, known, (uint32_t)number * BLOCK + (uint32_t)row};
}

ALWAYS void take_steps(Search *search, const int k, const bool edges)
{
    const int across = search->enabled_words;
    for (int row = 0; row < search->block.count; row++) {
        const uint64_t *enabled = search->block.enabled + (size_t)row * (size_t)across;
        for (int word = 0; word < across; word++)
            for (uint64_t left = enabled[word]; left; left &= left - 1) {
                const int move = 64 * word + lowest(left);
                uint32_t edge = NOWHERE;
                if (edges) {
                    edge = (uint32_t)search->block_edges.count++;
                    search->block_edges.updates[edge] = search->moves[move].update;
                    search->block_edges.targets[edge] = NOWHERE;
                    search->edge_rows[edge] = (uint32_t)row;
                }
                step_ahead(search, k, row, move, edge);
                if (search->ahead_count == AHEAD) {
                    resolve_ahead(search, k);
                    if (!going_on(search)) return;
                }
            }
    }
    resolve_ahead(search, k);
    if (search->pending_count && going_on(search)) judge_pending(search);
}

CLONES static void take_all_steps(Search *search, bool edges)
{
    switch (search->k) {
    case 1: take_steps(search, 1, edges); break;
    case 2: take_steps(search, 2, edges); break;
    case 3: take_steps(search, 3, edges); break;
    case 4: take_steps(search, 4, edges); break;
    case 5: take_steps(search, 5, edges); break;
    case 6: take_steps(search, 6, edges); break;
    case 7: take_steps(search, 7, edges); break;
    case 8: take_steps(search, 8, edges); break;
    default: take_steps(search, search->k, edges); break;
    }
}

static bool room_for_edges(Edges *edges, size_t room)
{
    if (room <= edges->room) return true;
    if (room < 2 * edges->room) room = 2 * edges->room;
    int32_t *updates = realloc(edges->updates, room * sizeof *updates);
    if (updates) edges->updates = updates;
    uint32_t *targets = realloc(edges->targets, room * sizeof *targets);
    if (targets) edges->targets = targets;
    if (!updates || !targets) return false;
    edges->room = room;
    return true;
}

bool steps_prepare(Search *search)
{
    const size_t k = (size_t)search->k;
    enum { RECENT_BYTES = 1 << 18 };
    size_t places = 64;
    while (2 * places * (k + 1) * sizeof(uint64_t) <= RECENT_BYTES) places *= 2;
    search->recent_mask = places - 1;
    search->recent = malloc(places * (k + 1) * sizeof(uint64_t));
    search->ahead = calloc(AHEAD, sizeof *search->ahead);
    search->ahead_words = calloc(AHEAD * k, sizeof(uint64_t));
    return search->recent && search->ahead && search->ahead_words;
}

bool expand_block(Search *search, bool edges)
{
    if (!search->recent_there) {
        /* There is a state in the block, and so one in the store. */
        for (size_t place = 0; place <= search->recent_mask; place++) {
            uint64_t *recent = search->recent + place * (size_t)(search->k + 1);
            memcpy(recent, state_words(&search->store, 0, search->k), (size_t)search->k * sizeof *recent);
            recent[search->k] = 0;
        }
        search->recent_there = true;
    }
    run_program(&search->programs[EXPAND], search->block.words, search->k, search->block.count, search->block.numbers, 0);
    memset(search->block.productive, 0, sizeof search->block.productive);
    search->ahead_count = search->pending_count = 0;
    const size_t total = find_enabled(search, search->block.count, search->block.enabled, edges);
    if (edges) {
        const size_t room = search->block_edges.room;
        if (!room_for_edges(&search->block_edges, total)) return false;
        if (search->block_edges.room != room || !search->edge_rows) {
            uint32_t *rows = realloc(search->edge_rows, (search->block_edges.room + 1) * sizeof *rows);
            if (!rows) return false;
            search->edge_rows = rows;
        }
        search->block_edges.count = 0;
    }
    take_all_steps(search, edges);
    return true;
}

void note_quiet(Search *search)
{
    const Program *expand = &search->programs[EXPAND];
    Tally *tally = &search->tally;
    for (int row = 0; row < search->block.count; row++) {
        if (search->block.productive[row >> 6] >> (row & 63) & 1) continue;
        tally->quiet++;
        if (search->ends >= 0 && plane_bit(&expand->planes[expand->kept[search->ends]], row)) continue;
        if (!tally->unended++) tally->first_unended = search->block.numbers[row];
    }
}

bool append_edges(Search *search)
{
    const size_t states = search->edge_states + (size_t)search->block.count;
    /* Rows grow to twice their length, and while they do the old one is there too. */
    const size_t edges = search->edges.count + search->block_edges.count;
    const size_t room = edges > search->edges.room ? 3 * edges : search->edges.room;
    if (!store_affords(&search->store, 8 * room + 8 * states)) return false;
    if (!room_for_edges(&search->edges, search->edges.count + search->block_edges.count)) return false;
    if (states > search->edge_states_room) {
        uint32_t *counts = realloc(search->edge_counts, 2 * states * sizeof *counts);
        if (!counts) return false;
        search->edge_counts = counts;
        search->edge_states_room = 2 * states;
    }
    memset(search->edge_counts + search->edge_states, 0, (size_t)search->block.count * sizeof *search->edge_counts);
    for (size_t edge = 0; edge < search->block_edges.count; edge++) {
        if (search->block_edges.targets[edge] == NOWHERE) continue;
        search->edges.updates[search->edges.count] = search->block_edges.updates[edge];
        search->edges.targets[search->edges.count++] = search->block_edges.targets[edge];
        search->edge_counts[search->edge_states + search->edge_rows[edge]]++;
    }
    search->edge_states = states;
    return true;
}
