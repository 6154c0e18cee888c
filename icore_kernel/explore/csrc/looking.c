/* What the watchlist asks of states: counted, and the values of measures with the first state that has each. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

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

void look_at_all(const Search *search, Program *program, uint8_t *out)
{
    const Store *store = &search->store;
    for (uint32_t begin = 0; begin < store->count;) {
        uint32_t length = CHUNK - (begin & (CHUNK - 1));
        if (length > store->count - begin) length = store->count - begin;
        if (length > BLOCK) length = BLOCK;
        run_program(program, state_words(store, begin, search->k), search->k, (int)length, NULL, begin);
        for (int32_t output = 0; output < program->kept_count; output++) {
            const Plane *plane = &program->planes[program->kept[output]];
            uint8_t *row = out + (size_t)output * store->count + begin;
            for (uint32_t place = 0; place < length; place++) row[place] = (uint8_t)plane_bit(plane, (int)place);
        }
        begin += length;
    }
}
