/* The breadth-first search over packed states (native.py drives it): what an update does, and what the search counts. */
#ifndef ICORE_SEARCH_H
#define ICORE_SEARCH_H

#include "planes.h"
#include "store.h"

enum { EXPAND, JUDGE, LOOK, FINAL, OUTCOMES, PROGRAMS };
enum { ORDINARY, ENVIRONMENT, FAULT };
/* Why `advance` returned: its blocks are used up, the level is done, one state too many, no memory, something to stop at. */
enum { MORE, LEVEL_DONE, FULL, EXHAUSTED, DUE };

typedef struct {
    int32_t update; /* its index in the system */
    int32_t kind;
    int32_t candidates; /* kept output of EXPAND: the states with a successor to judge */
    int32_t doubtful; /* kept output of EXPAND: where a `before` clause fails; -1 nowhere */
    int32_t after; /* kept output of JUDGE: where its own `after` holds; -1 wherever feasibility does */
    int32_t values_begin, values_end; /* bits to set in the successor, in `values` */
    int32_t clauses_begin, clauses_end; /* its own, in order of judgement, in `clauses` */
    int32_t shared_begin, shared_end; /* and those after them: feasibility */
} Move;

/* The kept output `output` of EXPAND gives bit `bit` of word `word`. */
typedef struct {
    int32_t output, word, bit;
} Value;

/* A clause: kept output of EXPAND (before) or JUDGE, and what is counted where it fails. */
typedef struct {
    int32_t program, output, slot;
} Clause;

/* How often, and the first (state, move). */
typedef struct {
    int64_t count, state, update;
} Slot;

/* The different values of some kept outputs of LOOK together (at most 64 bits), each with the first state that has it. */
typedef struct {
    int32_t begin, count;
    uint64_t *codes;
    int64_t *firsts; /* -1: an empty place */
    uint64_t size, used;
} Measure;

typedef struct {
    uint64_t *words; /* BLOCK states */
    uint32_t numbers[BLOCK];
    int count;
    uint64_t *enabled; /* BLOCK rows of `enabled_words` words: a bit a move */
    uint64_t productive[LANES];
} Block;

/* A successor of a row by a move; `edge` is its place in block_edges; `known` its number where it was met lately, or NOWHERE; `hash` 0
 * where it is to be judged before it is looked up (so is, while there is judging, a state whose hash is 0: that costs time, no more). */
typedef struct {
    uint64_t hash;
    uint32_t edge, known;
    uint32_t row_move;
} Candidate;

#define MOST_MOVES (1 << 21)

static inline int row_of(const Candidate *own) { return (int)(own->row_move & (BLOCK - 1)); }

static inline int move_of(const Candidate *own) { return (int)(own->row_move / BLOCK); }

typedef struct {
    int32_t *updates;
    uint32_t *targets;
    size_t count, room;
} Edges;

/* What whole blocks come to. */
typedef struct {
    int64_t stutters, quiet, unended, first_unended;
    int64_t *committed; /* by update */
} Tally;

typedef struct Plain Plain;

typedef struct {
    int k, update_count;
    Program programs[PROGRAMS];
    Store store;
    bool judging; /* successors are tested by JUDGE; its output 0 is feasibility */
    bool keep_edges, stop_at_violation, replaying;
    int32_t ends; /* kept output of EXPAND: a state that may end; -1: none may */
    int64_t most_states;
    Move *moves;
    int32_t *refused; /* by move: how many more of its last judged successors were refused than were not */
    int32_t move_count, enabled_words;
    uint64_t *masks; /* for each move, k words to keep and k words to put */
    Value *values;
    Clause *clauses;
    Slot *slots;
    int64_t *stamps; /* by slot: the last illegal occurrence counted there */
    int32_t value_count, clause_count, slot_count;
    Measure *measures;
    int32_t measure_count;
    int32_t *stops; /* pairs: a program and its counter to stop at */
    int32_t stop_count;

    uint32_t next, level_end, looked;
    int status;
    int64_t illegal;
    Tally tally;

    Block block;
    Plain *plain; /* NULL unless its blocks are plain: nothing to judge, no steps to keep */
    /* States met lately, by hash: places of k words and a number. What stands there is in the store: at first an initial state. */
    uint64_t *recent;
    uint64_t recent_mask;
    bool recent_there;
    Candidate *ahead; /* successors that wait for the table */
    uint64_t *ahead_words;
    int ahead_count;
    Candidate *pending; /* successors that wait for judgement */
    uint64_t *pending_words;
    int pending_count;
    Edges block_edges;
    uint32_t *edge_rows;
    Edges edges;
    uint32_t *edge_counts; /* by state */
    size_t edge_states, edge_states_room;
} Search;

Search *search_new(int k, int update_count, int64_t most_states, size_t most_bytes);
void search_free(Search *search);
void free_program(Program *program);
/* Room for blocks, after moves and programs are there. False: no memory. */
bool search_prepare(Search *search);
/* Initial states; those met before are left out. */
void search_admit(Search *search, const uint64_t *words, size_t count);
void search_begin_level(Search *search);
/* So many blocks of the level, on so many threads (1 or 2); what is found does not depend on how many. */
int search_advance(Search *search, int64_t blocks, int threads);
/* The committed steps of given states, into block_edges (targets NOWHERE are no steps). */
bool search_steps(Search *search, const uint32_t *numbers, int count);
/* Kept outputs of a program, 64 a word, for given states: out has words_out words a state. */
void search_values(Search *search, int program, const uint32_t *numbers, int count, uint64_t *out, int words_out);
/* The next block of the level: its length. */
int block_ahead(const Search *search, uint32_t next);

/* Every state goes in here. NOWHERE, with `status` set, when it may not. */
uint32_t admit(Search *search, const uint64_t *words, int k, uint64_t hash, uint32_t slot, uint32_t parent, bool infeasible);

/* steps.c: the successors of the block, found and judged. False: no memory for its edges. */
bool steps_prepare(Search *search);
bool expand_block(Search *search, bool edges);
void note_quiet(Search *search);
bool append_edges(Search *search);
/* Which moves have a successor in each row: rows of enabled_words words. When `counting`, how many successors that are. */
size_t find_enabled(const Search *search, int count, uint64_t *enabled, bool counting);

/* judging.c: the successors that wait for judgement. */
void judge_pending(Search *search);
void commit(Search *search, const Candidate *own, uint32_t target);

/* plain.c */
bool plain_prepare(Search *search);
void plain_free(Search *search);
void plain_advance(Search *search, int64_t blocks, int threads);

/* looking.c: the LOOK program over states not looked at yet; of the last ones less than a block is left, unless `all`. */
void search_look(Search *search, bool all);
/* Whether each kept output of a program holds, a byte a state, output by output. */
void look_at_all(const Search *search, Program *program, uint8_t *out);

static inline bool going_on(const Search *search) { return search->status == MORE || search->status == DUE; }

/* Whether a move's successors are judged without a look at the table: where most are refused, the table does not have them. */
static inline bool mostly_refused(const Search *search, int move) { return search->refused[move] > 64; }

static inline bool fails_before(const Search *search, const Move *move, int row)
{
    const Program *expand = &search->programs[EXPAND];
    return move->doubtful >= 0 && plane_bit(&expand->planes[expand->kept[move->doubtful]], row);
}

static inline uint64_t *recent_of(const Search *search, const int k, uint64_t hash)
{
    return search->recent + (hash & search->recent_mask) * (uint64_t)(k + 1);
}

static inline void note_recent(const Search *search, const int k, const uint64_t *words, uint64_t hash, uint32_t number)
{
    uint64_t *recent = recent_of(search, k, hash);
    for (int word = 0; word < k; word++) recent[word] = words[word];
    recent[k] = number;
}

#endif
