/* Successors that wait for judgement: a block of them is evaluated at once, and they are taken in their order. */
#include "search.h"

#include <string.h>

enum { PREFETCH = 12 };

void commit(Search *search, const Candidate *own, uint32_t target)
{
    const int row = row_of(own);
    const uint32_t source = search->block.numbers[row];
    if (!search->replaying) {
        search->tally.committed[search->moves[move_of(own)].update]++;
        search->tally.stutters += source == target;
    }
    search->block.productive[row >> 6] |= (uint64_t)(source != target) << (row & 63);
    if (own->edge != NOWHERE) search->block_edges.targets[own->edge] = target;
}

/* Count what fails for an illegal occurrence: of a fault the first clause (true: it was found), of others every label once. */
static bool note_clauses(Search *search, const Candidate *own, int row, int32_t begin, int32_t end)
{
    const Move *move = &search->moves[move_of(own)];
    for (int32_t place = begin; place < end; place++) {
        const Clause *clause = &search->clauses[place];
        const Program *program = &search->programs[clause->program];
        if (plane_bit(&program->planes[program->kept[clause->output]], clause->program == EXPAND ? row_of(own) : row)) continue;
        if (search->stamps[clause->slot] == search->illegal) continue;
        search->stamps[clause->slot] = search->illegal;
        Slot *slot = &search->slots[clause->slot];
        if (!slot->count++) {
            slot->state = search->block.numbers[row_of(own)];
            slot->update = move->update;
        }
        if (move->kind == FAULT) return true;
    }
    return false;
}

static void note_illegal(Search *search, const Candidate *own, int row)
{
    const Move *move = &search->moves[move_of(own)];
    search->illegal++;
    if (!note_clauses(search, own, row, move->clauses_begin, move->clauses_end))
        note_clauses(search, own, row, move->shared_begin, move->shared_end);
    if (search->stop_at_violation && move->kind != FAULT && search->status == MORE) search->status = DUE;
}

void judge_pending(Search *search)
{
    const int k = search->k;
    Program *judge = &search->programs[JUDGE];
    Store *store = &search->store;
    const int count = search->pending_count;
    search->pending_count = 0;
    run_program(judge, search->pending_words, k, count, NULL, 0);
    const Plane *feasible = &judge->planes[judge->kept[0]];
    for (int row = 0; row < count && going_on(search); row++) {
        if (row + PREFETCH < count && search->pending[row + PREFETCH].hash) expect_slot(store, search->pending[row + PREFETCH].hash);
        const Candidate *own = &search->pending[row];
        const Move *move = &search->moves[move_of(own)];
        const bool fine = plane_bit(feasible, row);
        const bool legal = fine && (move->after < 0 || plane_bit(&judge->planes[judge->kept[move->after]], row)) &&
                           !fails_before(search, move, row_of(own));
        int32_t *refused = &search->refused[move_of(own)];
        *refused += legal ? -(*refused > -1024) : *refused < 1024;
        if (!legal) {
            if (!search->replaying) note_illegal(search, own, row);
            if (move->kind != ENVIRONMENT) continue;
        }
        const uint64_t *words = search->pending_words + (size_t)row * (size_t)k;
        const uint64_t hash = own->hash ? own->hash : hash_of(words, k);
        uint32_t slot = 0;
        uint32_t target = find_state(store, words, k, hash, &slot);
        if (target == NOWHERE) {
            if (search->replaying) continue;
            target = admit(search, words, k, hash, slot, search->block.numbers[row_of(own)], !fine);
            if (target == NOWHERE) return;
        }
        note_recent(search, k, words, hash, target);
        commit(search, own, target);
    }
}
