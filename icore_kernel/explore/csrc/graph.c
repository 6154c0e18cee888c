#include "graph.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether every step goes to a greater number: so it is where breadth-first levels are never left but upwards. */
static bool rising(int64_t states, const int64_t *start, const int32_t *target)
{
    for (int64_t state = 0; state < states; state++)
        for (int64_t place = start[state]; place < start[state + 1]; place++)
            if (target[place] <= state) return false;
    return true;
}

bool graph_backwards(int64_t states, const int64_t *start, const int32_t *target, const int32_t *component, int64_t count)
{
    if (count != states) return false;
    for (int64_t state = 0; state < states; state++)
        if (component[state] != states - 1 - state) return false;
    return rising(states, start, target);
}

int64_t graph_components(int64_t states, const int64_t *start, const int32_t *target, int32_t *component)
{
    if (rising(states, start, target)) {
        for (int64_t state = 0; state < states; state++) component[state] = (int32_t)(states - 1 - state);
        return states;
    }
    /* component[s] is -1 for a state not met, and -2 - low while it waits for its component. */
    const size_t n = (size_t)states + 1;
    int32_t *low = malloc(n * sizeof *low), *waiting = malloc(n * sizeof *waiting), *path = malloc(n * sizeof *path);
    int64_t *place = malloc(n * sizeof *place);
    int64_t waiting_count = 0, path_count = 0, met = 0, count = -1;
    if (!low || !waiting || !path || !place) goto end;
    count = 0;
    for (int64_t state = 0; state < states; state++) component[state] = -1;
    for (int64_t root = 0; root < states; root++) {
        if (component[root] != -1) continue;
        int32_t next = (int32_t)root;
        for (;;) {
            if (next >= 0) { /* Enter it. Its index in the order of meeting is -2 - component. */
                component[next] = (int32_t)(-2 - met);
                low[next] = (int32_t)met++;
                place[next] = start[next];
                waiting[waiting_count++] = path[path_count++] = next;
            }
            const int32_t state = path[path_count - 1];
            const int64_t end = start[state + 1];
            int64_t here = place[state];
            next = -1;
            for (; here < end && next < 0; here++) {
                const int32_t other = target[here];
                if (component[other] == -1)
                    next = other;
                else if (component[other] < -1 && -2 - component[other] < low[state])
                    low[state] = -2 - component[other];
            }
            place[state] = here;
            if (next >= 0) continue;
            path_count--;
            if (low[state] == -2 - component[state]) {
                int32_t top;
                do {
                    top = waiting[--waiting_count];
                    component[top] = (int32_t)count;
                } while (top != state);
                count++;
            } else if (low[state] < low[path[path_count - 1]])
                low[path[path_count - 1]] = low[state];
            if (!path_count) break;
        }
    }
end:
    free(low);
    free(waiting);
    free(path);
    free(place);
    return count;
}

void graph_by_component(int64_t states, const int32_t *component, int64_t count, int64_t *begin, int32_t *members)
{
    for (int64_t state = 0; state < states; state++) begin[component[state] + 2]++;
    for (int64_t c = 0; c < count; c++) begin[c + 2] += begin[c + 1];
    for (int64_t state = 0; state < states; state++) members[begin[component[state] + 1]++] = (int32_t)state;
}

static int32_t merged(int32_t a, int32_t b)
{
    if (a == REACHES_NONE || a == b) return b;
    return b == REACHES_NONE ? a : REACHES_MANY;
}

/* What a component comes to, in one place: the pass reads it once for each step into it. */
typedef struct {
    int32_t one_bottom, one_class, longest;
} Reached;

int graph_condense_backwards(int64_t states, const int64_t *start, const int32_t *target, const int32_t *classes, const Condensed *out)
{
    Reached *reached = malloc(((size_t)states + 1) * sizeof *reached);
    if (!reached) return -1;
    for (int64_t state = states; state-- > 0;) {
        const int64_t end = start[state + 1], c = states - 1 - state;
        Reached own = {REACHES_NONE, REACHES_NONE, 0};
        if (start[state] == end)
            own = (Reached){(int32_t)c, classes ? classes[state] : (int32_t)state, 0};
        for (int64_t place = start[state]; place < end; place++) {
            const Reached *other = reached + target[place];
            own.one_bottom = merged(own.one_bottom, other->one_bottom);
            own.one_class = merged(own.one_class, other->one_class);
            if (other->longest >= own.longest) own.longest = other->longest + 1;
        }
        reached[state] = own;
        out->size[c] = 1;
        out->bottom[c] = start[state] == end;
        out->one_bottom[c] = own.one_bottom;
        out->one_class[c] = own.one_class;
        out->longest[c] = own.longest;
    }
    free(reached);
    return 0;
}

int graph_condense(int64_t states, const int64_t *start, const int32_t *target, const int32_t *component, int64_t count, const int32_t *classes,
                   const Condensed *out)
{
    int64_t *begin = calloc((size_t)count + 2, sizeof *begin);
    int32_t *members = malloc(((size_t)states + 1) * sizeof *members);
    if (!begin || !members) {
        free(begin);
        free(members);
        return -1;
    }
    graph_by_component(states, component, count, begin, members);
    for (int64_t c = 0; c < count; c++) {
        int32_t one_bottom = REACHES_NONE, one_class = REACHES_NONE;
        int64_t deepest = 0;
        uint8_t bottom = 1;
        for (int64_t member = begin[c]; member < begin[c + 1]; member++) {
            const int32_t state = members[member];
            for (int64_t place = start[state]; place < start[state + 1]; place++) {
                const int32_t other = component[target[place]];
                if (other == c) continue;
                bottom = 0;
                one_bottom = merged(one_bottom, out->one_bottom[other]);
                one_class = merged(one_class, out->one_class[other]);
                if (deepest < 0 || out->longest[other] < 0)
                    deepest = -1;
                else if (out->longest[other] >= deepest)
                    deepest = out->longest[other] + 1;
            }
        }
        const int64_t size = begin[c + 1] - begin[c];
        if (bottom) {
            one_bottom = (int32_t)c;
            if (size == 1) one_class = classes ? classes[members[begin[c]]] : members[begin[c]];
        }
        out->size[c] = (int32_t)size;
        out->bottom[c] = bottom;
        out->one_bottom[c] = one_bottom;
        out->one_class[c] = one_class;
        out->longest[c] = size > 1 ? -1 : deepest;
    }
    free(begin);
    free(members);
    return 0;
}

int64_t graph_productive(int64_t states, const int64_t *start, const int32_t *update, const int32_t *target, int64_t *start_out, int32_t *update_out,
                         int32_t *target_out)
{
    int64_t kept = 0, next = states ? start[0] : 0;
    if (states) start_out[0] = 0;
    for (int64_t state = 0; state < states; state++) {
        const int64_t begin = next;
        next = start[state + 1];
        for (int64_t place = begin; place < next; place++) {
            if (target[place] == state) continue;
            update_out[kept] = update[place];
            target_out[kept++] = target[place];
        }
        start_out[state + 1] = kept;
    }
    return kept;
}

void graph_reverse(int64_t states, const int64_t *start, const int32_t *target, int64_t *start_out, int32_t *source)
{
    memset(start_out, 0, ((size_t)states + 1) * sizeof *start_out);
    const int64_t steps = states ? start[states] : 0;
    for (int64_t place = 0; place < steps; place++) start_out[target[place] + 1]++;
    for (int64_t state = 0; state < states; state++) start_out[state + 1] += start_out[state];
    /* Backwards, each end moving down to the begin of its row: what is ascending stays so, and no second array is needed. */
    for (int64_t state = states; state-- > 0;)
        for (int64_t place = start[state + 1]; place-- > start[state];) source[--start_out[target[place] + 1]] = (int32_t)state;
    for (int64_t state = 0; state < states; state++) start_out[state] = start_out[state + 1];
    if (states) start_out[states] = steps;
}


int graph_region(int64_t states, const int64_t *start, const int32_t *update, const int32_t *target, const uint8_t *goal, const uint8_t *fair,
                 const int32_t *starts, int64_t count, uint8_t *region, Region *found)
{
    int32_t *queue = malloc((size_t)states * sizeof *queue + 1);
    if (!queue) return -1;
    int64_t length = 0;
    for (int64_t place = 0; place < count; place++)
        if (!region[starts[place]]) {
            region[starts[place]] = 1;
            queue[length++] = starts[place];
        }
    *found = (Region){-1, 1};
    for (int64_t next = 0; next < length; next++) {
        const int32_t state = queue[next];
        int may_end = 1;
        for (int64_t place = start[state]; place < start[state + 1]; place++) {
            const int32_t after = target[place];
            if (fair[update[place]]) may_end = 0;
            if (goal[after]) continue;
            if (after <= state) found->rising = 0;
            if (region[after]) continue;
            region[after] = 1;
            queue[length++] = after;
        }
        if (may_end && (found->end < 0 || state < found->end)) found->end = state;
    }
    free(queue);
    return 0;
}
