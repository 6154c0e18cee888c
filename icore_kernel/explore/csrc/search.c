#include "search.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 256, PREFETCH = 12 };

Search *search_new(int k, int update_count, int64_t most_states, size_t most_bytes)
{
    Search *search = calloc(1, sizeof *search);
    if (!search) return NULL;
    search->k = k;
    search->update_count = update_count;
    search->most_states = most_states >= 0 && most_states < MOST_STATES ? most_states : MOST_STATES;
    search->ends = -1;
    search->first_unended = -1;
    search->committed = calloc((size_t)update_count + 1, sizeof *search->committed);
    if (!search->committed || !store_open(&search->store, k, most_bytes)) {
        search_free(search);
        return NULL;
    }
    return search;
}

static void free_program(Program *program)
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
    free(search->moves);
    free(search->refused);
    free(search->masks);
    free(search->values);
    free(search->clauses);
    free(search->slots);
    free(search->stamps);
    free(search->measures);
    free(search->stops);
    free(search->committed);
    free(search->block.words);
    free(search->block.enabled);
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
    if (search->k == 1 && !search->judging && !search->keep_edges && !store_by_keys(&search->store)) return false;
    search->refused = calloc((size_t)search->move_count + 1, sizeof *search->refused);
    search->block.words = calloc(BLOCK * k, sizeof(uint64_t));
    search->block.enabled = calloc(BLOCK * (size_t)search->enabled_words + 1, sizeof(uint64_t));
    search->ahead = calloc(AHEAD, sizeof *search->ahead);
    search->ahead_words = calloc(AHEAD * k, sizeof(uint64_t));
    search->pending = calloc(BLOCK, sizeof *search->pending);
    search->pending_words = calloc(BLOCK * k, sizeof(uint64_t));
    return search->refused && search->block.words && search->block.enabled && search->ahead && search->ahead_words && search->pending && search->pending_words;
}

/* Every state goes in here. NOWHERE, with `status` set, when it may not. */
static inline uint32_t admit(Search *search, const uint64_t *words, const int k, uint64_t hash, uint32_t slot, uint32_t parent, bool infeasible)
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

/* ---- one block ------------------------------------------------------------------------------------------------- */

static inline void commit(Search *search, const Candidate *own, uint32_t target)
{
    const int row = row_of(own);
    const uint32_t source = search->block.numbers[row];
    if (!search->replaying) {
        search->committed[search->moves[move_of(own)].update]++;
        search->stutters += source == target;
    }
    search->block.productive[row >> 6] |= (uint64_t)(source != target) << (row & 63);
    if (own->edge != NOWHERE) search->block_edges.targets[own->edge] = target;
}

/* Whether a move's successors are judged without a look at the table: where most are refused, the table does not have them. */
static inline bool mostly_refused(const Search *search, int move) { return search->refused[move] > 64; }

static inline bool fails_before(const Search *search, const Move *move, int row)
{
    const Program *expand = &search->programs[EXPAND];
    return move->doubtful >= 0 && plane_bit(&expand->planes[expand->kept[move->doubtful]], row);
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

static void judge_pending(Search *search)
{
    const int k = search->k;
    Program *judge = &search->programs[JUDGE];
    Store *store = &search->store;
    const int count = search->pending_count;
    search->pending_count = 0;
    run_program(judge, search->pending_words, k, count, NULL, 0);
    const Plane *feasible = &judge->planes[judge->kept[0]];
    for (int row = 0; row < count && (search->status == MORE || search->status == DUE); row++) {
        if (row + PREFETCH < count && !mostly_refused(search, move_of(&search->pending[row + PREFETCH])))
            expect_slot(store, search->pending[row + PREFETCH].hash);
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
        uint32_t slot = 0;
        uint32_t target = find_state(store, words, k, own->hash, &slot);
        if (target == NOWHERE) {
            if (search->replaying) continue;
            target = admit(search, words, k, own->hash, slot, search->block.numbers[row_of(own)], !fine);
            if (target == NOWHERE) return;
        }
        commit(search, own, target);
    }
}

/* Look the successors up that wait for it, in their order. */
static inline __attribute__((always_inline)) void resolve_ahead(Search *search, const int k)
{
    Store *store = &search->store;
    const int count = search->ahead_count;
    const Candidate *ahead = search->ahead;
    search->ahead_count = 0;
    for (int place = 0; place < PREFETCH && place < count; place++)
        if (!mostly_refused(search, move_of(&ahead[place]))) expect_state(store, k, ahead[place].hash);
    for (int place = 0; place < count; place++) {
        const Candidate *own = &ahead[place];
        if (place + PREFETCH < count && !mostly_refused(search, move_of(&own[PREFETCH]))) expect_state(store, k, own[PREFETCH].hash);
        const uint64_t *words = search->ahead_words + (size_t)place * (size_t)k;
        const uint64_t *source = search->block.words + (size_t)row_of(own) * (size_t)k;
        uint32_t slot = 0;
        const bool unknown = search->judging && mostly_refused(search, move_of(own));
        uint32_t target = same_words(words, source, k) ? search->block.numbers[row_of(own)]
                          : unknown                    ? NOWHERE
                                                       : find_state(store, words, k, own->hash, &slot);
        if (search->judging) {
            const Move *move = &search->moves[move_of(own)];
            if (target == NOWHERE || move->after >= 0 || (store->infeasible_count && is_infeasible(store, target)) ||
                fails_before(search, move, row_of(own))) {
                const int last = search->pending_count++;
                search->pending[last] = *own;
                memcpy(search->pending_words + (size_t)last * (size_t)k, words, (size_t)k * sizeof *words);
                if (search->pending_count == BLOCK) judge_pending(search);
                if (search->status == FULL || search->status == EXHAUSTED) return;
                continue;
            }
        } else if (target == NOWHERE) {
            if (search->replaying) continue;
            target = admit(search, words, k, own->hash, slot, search->block.numbers[row_of(own)], false);
            if (target == NOWHERE) return;
        }
        commit(search, own, target);
    }
}

/* The same where every successor commits, and its steps are counted by note_plain: no judgement, no edges, no replay, no stutters. */
static inline __attribute__((always_inline)) void resolve_plain(Search *search, const int k, const bool keyed)
{
    Store *store = &search->store;
    const int count = search->ahead_count;
    const Candidate *ahead = search->ahead;
    search->ahead_count = 0;
    for (int place = 0; !keyed && place < PREFETCH && place < count; place++) expect_state(store, k, ahead[place].hash);
    for (int place = 0; place < count; place++) {
        const Candidate *own = &ahead[place];
        if (!keyed && place + PREFETCH < count) expect_state(store, k, own[PREFETCH].hash);
        const uint64_t *words = search->ahead_words + (size_t)place * (size_t)k;
        uint32_t slot = 0;
        const uint32_t target = keyed ? find_key(store, words[0], own->hash, &slot) : find_state(store, words, k, own->hash, &slot);
        if (target == NOWHERE && admit(search, words, k, own->hash, slot, search->block.numbers[row_of(own)], false) == NOWHERE) return;
    }
}

/* The successor by one move of one row, put among those that wait; of a plain block only where it is another state. */
static inline __attribute__((always_inline)) void
step_ahead(Search *search, const int k, const bool plain, const bool keyed, int row, int number, uint32_t edge)
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
    if (plain && same_words(words, source, k)) {
        search->block.stutters[row]++;
        return;
    }
    const uint64_t hash = hash_of(words, k);
    if (keyed)
        expect_key(&search->store, hash);
    else if (plain || !mostly_refused(search, number))
        expect_slot(&search->store, hash);
    search->ahead[search->ahead_count++] = (Candidate){hash, edge, (uint32_t)number * BLOCK + (uint32_t)row};
}

/* Which moves have a successor in each row; when `counting`, how many successors that are. */
static size_t find_enabled(Search *search, bool counting)
{
    const Program *expand = &search->programs[EXPAND];
    const int count = search->block.count, across = search->enabled_words;
    size_t total = 0;
    for (int word = 0; word < across; word++) {
        const int begin = 64 * word, moves = search->move_count - begin < 64 ? search->move_count - begin : 64;
        for (int group = 0; group * 64 < count; group++) {
            uint64_t rows[64], any = 0;
            for (int move = 0; move < moves; move++) {
                rows[move] = expand->planes[expand->kept[search->moves[begin + move].candidates]].lane[group];
                any |= rows[move];
            }
            uint64_t *out = search->block.enabled + (size_t)group * 64 * (size_t)across + word;
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

static inline __attribute__((always_inline)) void
take_steps(Search *search, const int k, const bool edges, const bool plain, const bool keyed)
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
                step_ahead(search, k, plain, keyed, row, move, edge);
                if (search->ahead_count == AHEAD) {
                    if (plain)
                        resolve_plain(search, k, keyed);
                    else
                        resolve_ahead(search, k);
                    if (search->status == FULL || search->status == EXHAUSTED) return;
                }
            }
    }
    if (plain)
        resolve_plain(search, k, keyed);
    else
        resolve_ahead(search, k);
    if (search->pending_count && (search->status == MORE || search->status == DUE)) judge_pending(search);
}

/* The steps of a plain block: all successors commit. */
static void note_plain(Search *search)
{
    const Program *expand = &search->programs[EXPAND];
    Block *block = &search->block;
    for (int32_t number = 0; number < search->move_count; number++) {
        const Move *move = &search->moves[number];
        const uint64_t *lanes = expand->planes[expand->kept[move->candidates]].lane;
        int64_t count = 0;
        for (int lane = 0; lane * 64 < block->count; lane++) {
            const int left = block->count - 64 * lane;
            count += __builtin_popcountll(left < 64 ? lanes[lane] & (((uint64_t)1 << left) - 1) : lanes[lane]);
        }
        search->committed[move->update] += count;
    }
    for (int row = 0; row < block->count; row++) {
        uint32_t successors = 0;
        for (int word = 0; word < search->enabled_words; word++)
            successors += (uint32_t)__builtin_popcountll(block->enabled[(size_t)row * (size_t)search->enabled_words + (size_t)word]);
        search->stutters += block->stutters[row];
        block->productive[row >> 6] |= (uint64_t)(successors > block->stutters[row]) << (row & 63);
    }
}

static void take_all_steps(Search *search, bool edges)
{
    const bool plain = !search->judging && !edges && !search->replaying;
    if (plain) memset(search->block.stutters, 0, sizeof search->block.stutters);
    if (search->store.keyed)
        take_steps(search, 1, false, true, true);
    else if (plain && search->k == 2)
        take_steps(search, 2, false, true, false);
    else if (search->k == 1)
        take_steps(search, 1, edges, false, false);
    else if (search->k == 2)
        take_steps(search, 2, edges, false, false);
    else if (search->k == 3)
        take_steps(search, 3, edges, false, false);
    else if (search->k == 4)
        take_steps(search, 4, edges, false, false);
    else if (search->k == 5)
        take_steps(search, 5, edges, false, false);
    else if (search->k == 6)
        take_steps(search, 6, edges, false, false);
    else
        take_steps(search, search->k, edges, false, false);
    if (plain && (search->store.keyed || search->k == 2) && search->status != FULL && search->status != EXHAUSTED) note_plain(search);
}

/* The successors of the block, found and judged. False: no memory for its edges. */
static bool expand_block(Search *search, bool edges)
{
    run_program(&search->programs[EXPAND], search->block.words, search->k, search->block.count, search->block.numbers, 0);
    memset(search->block.productive, 0, sizeof search->block.productive);
    search->ahead_count = search->pending_count = 0;
    const size_t total = find_enabled(search, edges);
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

static void note_quiet(Search *search)
{
    const Program *expand = &search->programs[EXPAND];
    for (int row = 0; row < search->block.count; row++) {
        if (search->block.productive[row >> 6] >> (row & 63) & 1) continue;
        search->quiet++;
        if (search->ends >= 0 && plane_bit(&expand->planes[expand->kept[search->ends]], row)) continue;
        if (!search->unended++) search->first_unended = search->block.numbers[row];
    }
}

static bool append_edges(Search *search)
{
    const size_t states = search->edge_states + (size_t)search->block.count;
    const Store *store = &search->store;
    /* Rows grow to twice their length, and while they do the old one is there too. */
    const size_t edges = search->edges.count + search->block_edges.count;
    const size_t room = edges > search->edges.room ? 3 * edges : search->edges.room;
    if (store->most_bytes && store->bytes + 8 * room + 8 * states > store->most_bytes) return false;
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

/* ---- looking --------------------------------------------------------------------------------------------------- */

static void note_value(Measure *measure, uint64_t code, int64_t number)
{
    uint64_t place = mix(code) & (measure->size - 1);
    while (measure->firsts[place] >= 0 && measure->codes[place] != code) place = (place + 1) & (measure->size - 1);
    if (measure->firsts[place] < 0) {
        measure->codes[place] = code;
        measure->firsts[place] = number;
        measure->used++;
    }
}

static bool note_values(Measure *measure, const uint64_t *codes, int count, int64_t base)
{
    for (int row = 0; row < count; row++) {
        if (row && codes[row] == codes[row - 1]) continue;
        if (2 * measure->used >= measure->size) {
            Measure wider = *measure;
            wider.size = measure->size ? 2 * measure->size : 64;
            wider.used = 0;
            wider.codes = calloc(wider.size, sizeof *wider.codes);
            wider.firsts = malloc(wider.size * sizeof *wider.firsts);
            if (!wider.codes || !wider.firsts) {
                free(wider.codes);
                free(wider.firsts);
                return false;
            }
            memset(wider.firsts, 0xFF, wider.size * sizeof *wider.firsts);
            for (uint64_t place = 0; place < measure->size; place++)
                if (measure->firsts[place] >= 0) note_value(&wider, measure->codes[place], measure->firsts[place]);
            free(measure->codes);
            free(measure->firsts);
            *measure = wider;
        }
        note_value(measure, codes[row], base + row);
    }
    return true;
}

void search_look(Search *search, bool all)
{
    Program *look = &search->programs[LOOK];
    const Store *store = &search->store;
    while (search->looked < store->count && (all || store->count - search->looked >= BLOCK)) {
        uint32_t length = store->count - search->looked;
        const uint32_t left = CHUNK - (search->looked & (CHUNK - 1));
        if (length > BLOCK) length = BLOCK;
        if (length > left) length = left;
        const int count = (int)length;
        if (look->counters || look->kept_count)
            run_program(look, state_words(store, search->looked, search->k), search->k, count, NULL, search->looked);
        for (int32_t place = 0; place < search->measure_count; place++) {
            uint64_t codes[BLOCK];
            Measure *measure = &search->measures[place];
            gather_rows(look, look->kept + measure->begin, measure->count, count, codes);
            if (!note_values(measure, codes, count, search->looked)) {
                search->status = EXHAUSTED;
                return;
            }
        }
        search->looked += length;
    }
    for (int32_t place = 0; place < search->stop_count; place++)
        if (search->programs[search->stops[2 * place]].counts[search->stops[2 * place + 1]] && search->status == MORE) search->status = DUE;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

int search_advance(Search *search, int64_t blocks)
{
    Store *store = &search->store;
    if (search->status != MORE) return search->status;
    for (; blocks > 0 && search->next < search->level_end; blocks--) {
        Block *block = &search->block;
        uint32_t length = search->level_end - search->next;
        const uint32_t left = CHUNK - (search->next & (CHUNK - 1));
        if (length > BLOCK) length = BLOCK;
        if (length > left) length = left;
        block->count = (int)length;
        memcpy(block->words, state_words(store, search->next, search->k), length * (size_t)search->k * sizeof(uint64_t));
        for (uint32_t row = 0; row < length; row++) block->numbers[row] = search->next + row;
        if (!expand_block(search, search->keep_edges)) search->status = EXHAUSTED;
        if (search->status == FULL || search->status == EXHAUSTED) break;
        search->next += length;
        note_quiet(search);
        if (search->keep_edges && !append_edges(search)) search->status = EXHAUSTED;
        search_look(search, search->next == search->level_end);
        if (search->status != MORE) break;
    }
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
    if (!store_by_numbers(&search->store)) return false;
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
