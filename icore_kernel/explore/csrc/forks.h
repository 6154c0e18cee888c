/* Forks of pairs of updates in a chunk of states, told apart: independent, joinable, not joinable, unclassified. */
#ifndef ICORE_FORKS_H
#define ICORE_FORKS_H

#include <stdbool.h>
#include <stdint.h>

/* `start`, `update`, `target`: the full step graph, each row in the order of updates. `component` of each state. Where components reach several
   bottom components, `only` is one_bottom of each, `set_of` and `bits` are as reach_sets leaves them, `words` words a row; else words is 0. `partial`:
   some bottom components have no bit. The last four say how long the tables are. */
typedef struct {
    const int64_t *start;
    const int32_t *update, *target, *component, *only, *set_of;
    const uint64_t *bits;
    int64_t words;
    bool partial;
    int64_t states, steps, components, sets;
} Known;

/* Which states of the chunk do which update, where they go: state begin + i does update u to moved[place[u * width + i]] where that place is not
   -1; bit i of the row of u, width / 8 bytes at enabled + u * width / 8, says the same. */
typedef struct {
    int64_t begin, width, updates, moves;
    const int32_t *place, *moved;
    const uint8_t *enabled;
} ForksChunk;

/* For each of `pairs` pairs of updates (one, other, whether the two may be independent) five numbers are added to counts: independent, joinable,
   not joinable, unclassified forks; the fifth becomes the first state with one that is not joinable, where it is -1. -1: no memory; -2: a table
   names something that is not there (they are too long to be looked through before every chunk). */
int forks_count(const Known *known, const ForksChunk *chunk, int64_t pairs, const int32_t *asked, int64_t *counts);

#endif
