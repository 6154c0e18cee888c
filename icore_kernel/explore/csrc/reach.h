/* Which of the marked components (bottom components, say) each component of a step graph reaches: every different set once. */
#ifndef ICORE_REACH_H
#define ICORE_REACH_H

#include <stdbool.h>
#include <stdint.h>

/* Gives room for `bytes` bytes, what was there kept; NULL: no memory. */
typedef uint64_t *(*Room)(void *owner, int64_t bytes);

enum { REACH_NO_MEMORY = -1, REACH_TOO_MANY = -2 };

/* Components are numbered as graph_components does; `column[c]` is the bit of component c, or -1. Set number `set_of[c]`, a row of `words`
   words in what `room` gave, says what c reaches (itself among it). Returns how many sets; REACH_TOO_MANY: more than `most`. */
int64_t reach_sets(int64_t states, const int64_t *start, const int32_t *target, const int32_t *component, int64_t count, const int32_t *column,
                   int64_t words, int64_t most, int32_t *set_of, Room room, void *owner);

#endif
