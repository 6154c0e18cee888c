/* Forks of pairs of updates, told apart: independent, joinable, not joinable, unclassified. */
#ifndef ICORE_FORKS_H
#define ICORE_FORKS_H

#include <stdbool.h>
#include <stdint.h>

/* Steps in compressed rows, each row in the order of updates; `steps` of them in all. */
typedef struct {
    const int64_t *start;
    const int32_t *update, *target;
    int64_t steps;
} Rows;

/* What each state reaches: set_of[s] is a row of `words` words at `bits`, one of `sets`; no words: all reach one thing. `only[s]`, needed where
   `partial` says that some things have no bit: the one thing that the state reaches, or REACHES_MANY. */
typedef struct {
    const int32_t *set_of;
    const uint64_t *bits;
    const int32_t *only;
    int64_t words, sets;
    bool partial;
} Reached;

/* Every fork of `moves`, steps without stutters, of two updates a < b with a number in pair[a * updates + b] (-1: none). look[number]: the two may
   be independent, which is looked up in `full`, with stutters. Five counts a pair: independent, joinable, not joinable, unclassified, and the first
   state with one that is not joinable, where it is -1. -1: no memory; -2: a table names something that is not there. */
int forks_count(int64_t states, const Rows *full, const Rows *moves, const Reached *reached, int64_t updates, const int32_t *pair, int64_t pairs,
                const uint8_t *look, int64_t *counts);

#endif
