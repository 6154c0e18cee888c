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
    uint32_t stutters[BLOCK]; /* of a plain block */
} Block;

/* A successor of a row by a move; `edge` is its place in block_edges. */
typedef struct {
    uint64_t hash;
    uint32_t edge;
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
    int64_t stutters, illegal, quiet, unended, first_unended;
    int64_t *committed; /* by update */

    Block block;
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
/* Room for `blocks`, after moves and programs are there. False: no memory. */
bool search_prepare(Search *search);
/* Initial states; those met before are left out. */
void search_admit(Search *search, const uint64_t *words, size_t count);
void search_begin_level(Search *search);
int search_advance(Search *search, int64_t blocks);
void search_look(Search *search, bool all);
/* The committed steps of given states, into block_edges (targets NOWHERE are no steps). */
bool search_steps(Search *search, const uint32_t *numbers, int count);
/* Kept outputs of a program, 64 a word, for given states: out has words_out words a state. */
void search_values(Search *search, int program, const uint32_t *numbers, int count, uint64_t *out, int words_out);

#endif
