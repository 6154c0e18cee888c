/* Plain blocks on two threads: one makes batches, the other puts them into the store. A ring of batches lies between them. */
#include "plain.h"

#include <stdlib.h>
#include <string.h>

#ifdef THREADS
enum { MOST_NUMBERS = 1 << 15 };

static void copy_tally(const Search *search, Tally *to, const Tally *from)
{
    int64_t *committed = to->committed;
    memcpy(committed, from->committed, (size_t)search->update_count * sizeof *committed);
    *to = *from;
    to->committed = committed;
}

static void copy_counts(const Program *expand, int64_t *counts, int64_t *firsts)
{
    memcpy(counts, expand->counts, (size_t)expand->counters * sizeof *counts);
    memcpy(firsts, expand->firsts, (size_t)expand->counters * sizeof *firsts);
}

void publish(Maker *maker, bool last)
{
    Plain *plain = maker->search->plain;
    Batch *batch = maker->batch;
    batch->last = last;
    batch->next = maker->next;
    if (last) {
        copy_tally(maker->search, &batch->tally, maker->tally);
        copy_counts(maker->expand, batch->counts, batch->firsts);
    }
    pthread_mutex_lock(&plain->lock);
    plain->made++;
    if (plain->more_wanted && plain->made - plain->taken >= RING / 2) pthread_cond_signal(&plain->more);
    while (!plain->stop && plain->made - plain->taken >= RING) {
        plain->room_wanted = true;
        if (plain->more_wanted) pthread_cond_signal(&plain->more);
        pthread_cond_wait(&plain->room, &plain->lock);
        plain->room_wanted = false;
    }
    maker->stopped = plain->stop;
    pthread_mutex_unlock(&plain->lock);
    maker->batch = &plain->batches[plain->made % RING];
    maker->batch->count = 0;
}

static void *make_blocks(void *own)
{
    Maker *maker = own;
    Plain *plain = maker->search->plain;
    for (; maker->blocks > 0 && maker->next < maker->search->level_end && !maker->stopped; maker->blocks--) make_block(maker);
    pthread_mutex_lock(&plain->lock);
    plain->made_all = true;
    pthread_cond_signal(&plain->more);
    pthread_mutex_unlock(&plain->lock);
    return NULL;
}

/* The next batch; NULL when all are taken. */
static const Batch *await(Plain *plain)
{
    const Batch *found = NULL;
    pthread_mutex_lock(&plain->lock);
    while (plain->made == plain->taken && !plain->made_all) {
        plain->more_wanted = true;
        pthread_cond_wait(&plain->more, &plain->lock);
        plain->more_wanted = false;
    }
    if (plain->made != plain->taken) found = &plain->batches[plain->taken % RING];
    pthread_mutex_unlock(&plain->lock);
    return found;
}

static void give_back(Plain *plain, bool stop)
{
    pthread_mutex_lock(&plain->lock);
    plain->taken++;
    plain->stop = stop;
    if (plain->room_wanted && (stop || plain->made - plain->taken <= RING / 2)) pthread_cond_signal(&plain->room);
    pthread_mutex_unlock(&plain->lock);
}

/* When a block fails, EXPAND has counted it, and nothing else has: as on one thread. */
static void take_batches(Search *search)
{
    Plain *plain = search->plain;
    Program *expand = &search->programs[EXPAND];
    const Batch *batch;
    while ((batch = await(plain))) {
        if (search->status == MORE) put_plain(search, batch, false);
        bool stop = false;
        if (batch->last) {
            memcpy(expand->counts, batch->counts, (size_t)expand->counters * sizeof *batch->counts);
            memcpy(expand->firsts, batch->firsts, (size_t)expand->counters * sizeof *batch->firsts);
            if (search->status == MORE) {
                copy_tally(search, &search->tally, &batch->tally);
                search->next = batch->next;
                search_look(search, search->next == search->level_end);
            }
            stop = search->status != MORE;
        }
        give_back(plain, stop);
        if (stop) return;
    }
}

/* Room for what the second thread needs, when it is first wanted. */
static bool two_threads(Search *search)
{
    Plain *plain = search->plain;
    const size_t counters = (size_t)search->programs[EXPAND].counters + 1, updates = (size_t)search->update_count + 1;
    if (counters + updates > MOST_NUMBERS) return false;
    if (plain->tally.committed) return true;
    for (int place = 0; place < RING; place++) {
        free_batch(&plain->batches[place]);
        memset(&plain->batches[place], 0, sizeof plain->batches[place]);
        if (!make_batch(search, &plain->batches[place], true)) return false;
    }
    plain->expand.counts = malloc(counters * sizeof *plain->expand.counts);
    plain->expand.firsts = malloc(counters * sizeof *plain->expand.firsts);
    plain->tally.committed = malloc(updates * sizeof *plain->tally.committed);
    return plain->expand.counts && plain->expand.firsts && plain->tally.committed;
}

bool advance_on_two(Search *search, int64_t blocks)
{
    Plain *plain = search->plain;
    if (!two_threads(search)) return false;
    int64_t *counts = plain->expand.counts, *firsts = plain->expand.firsts;
    plain->expand = search->programs[EXPAND];
    plain->expand.counts = counts;
    plain->expand.firsts = firsts;
    copy_counts(&search->programs[EXPAND], counts, firsts);
    copy_tally(search, &plain->tally, &search->tally);
    Maker maker = {search, &plain->expand, &plain->tally, &plain->batches[0], search->next, blocks, false};
    maker.batch->count = 0;
    plain->made = plain->taken = 0;
    plain->more_wanted = plain->room_wanted = plain->made_all = plain->stop = false;
    pthread_mutex_init(&plain->lock, NULL);
    pthread_cond_init(&plain->more, NULL);
    pthread_cond_init(&plain->room, NULL);
    pthread_t thread;
    const bool begun = !pthread_create(&thread, NULL, make_blocks, &maker);
    if (begun) {
        take_batches(search);
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&plain->more);
    pthread_cond_destroy(&plain->room);
    pthread_mutex_destroy(&plain->lock);
    return begun;
}
#endif
