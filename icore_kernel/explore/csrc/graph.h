/* Linear passes over a step graph in compressed rows: the steps of state s are start[s] .. start[s + 1]. */
#ifndef ICORE_GRAPH_H
#define ICORE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* What condense.py calls NONE and MANY. */
enum { REACHES_NONE = -1, REACHES_MANY = -2 };

/* Strongly connected components, numbered so that a step between two goes to the smaller number: as Tarjan closes them, or, where every
 * step goes to a greater state, the states backwards. Returns how many; -1: no memory. */
int64_t graph_components(int64_t states, const int64_t *start, const int32_t *target, int32_t *component);

typedef struct {
    int32_t *size;
    uint8_t *bottom;
    int32_t *one_bottom, *one_class;
    int64_t *longest;
} Condensed;

/* Whether these are components of one state each, numbered backwards, of a graph whose steps all go to a greater state. */
bool graph_backwards(int64_t states, const int64_t *start, const int32_t *target, const int32_t *component, int64_t count);
/* graph_condense of such. -1: no memory. */
int graph_condense_backwards(int64_t states, const int64_t *start, const int32_t *target, const int32_t *classes, const Condensed *out);

/* The pass from the bottom upwards over `count` components; `classes` may be NULL. -1: no memory. */
int graph_condense(int64_t states, const int64_t *start, const int32_t *target, const int32_t *component, int64_t count, const int32_t *classes,
                   const Condensed *out);

/* The states by component: those of c are members[begin[c]] .. members[begin[c + 1]]. `begin` has count + 2 zeros. */
void graph_by_component(int64_t states, const int32_t *component, int64_t count, int64_t *begin, int32_t *members);

/* Leave self-loops out, in place where the outputs are the inputs. Returns the steps left. */
int64_t graph_productive(int64_t states, const int64_t *start, const int32_t *update, const int32_t *target, int64_t *start_out, int32_t *update_out,
                         int32_t *target_out);

/* The same steps by their targets: the sources of state s, ascending, are source[start_out[s] .. start_out[s + 1]]. */
void graph_reverse(int64_t states, const int64_t *start, const int32_t *target, int64_t *start_out, int32_t *source);

typedef struct {
    int64_t end; /* the first state of the region without a fair step; -1: none */
    int rising; /* every step inside the region goes to a greater number: there is no cycle */
} Region;

/* The states reachable from `starts` (states outside the goal) outside the goal: region[s] is 1 (it is zero before). `fair`: by update.
 * 0; -1: no memory. */
int graph_region(int64_t states, const int64_t *start, const int32_t *update, const int32_t *target, const uint8_t *goal, const uint8_t *fair,
                 const int32_t *starts, int64_t count, uint8_t *region, Region *found);

#endif
