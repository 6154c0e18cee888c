#include "planes.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 10)
#include <immintrin.h>
#define GFNI
#endif

CLONES static void transpose_anywhere(uint64_t rows[64])
{
    uint64_t mask = 0x00000000FFFFFFFFu;
    for (int width = 32; width; width >>= 1, mask ^= mask << width)
        for (int begin = 0; begin < 64; begin += 2 * width)
            for (int low = begin; low < begin + width; low++) {
                uint64_t moved = (rows[low] >> width ^ rows[low + width]) & mask;
                rows[low + width] ^= moved;
                rows[low] ^= moved << width;
            }
}

#ifdef GFNI
/* Bytes to columns, so that each 64 bits are a square of 8 x 8 bits, upside down; each square turned by the affine instruction, which
 * turns it back up; squares to rows, bytes to places. */
__attribute__((target("avx512f,avx512bw,avx512vbmi,gfni"))) static void transpose_gfni(uint64_t rows[64])
{
    uint8_t turned[64], risen[64];
    for (int byte = 0; byte < 64; byte++) {
        risen[byte] = (uint8_t)(8 * (byte & 7) + (byte >> 3));
        turned[byte] = (uint8_t)(8 * (7 - (byte & 7)) + (byte >> 3));
    }
    const __m512i columns = _mm512_loadu_si512(turned), places = _mm512_loadu_si512(risen);
    const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201u);
    __m512i square[8], pair[8], quad[8];
    for (int of = 0; of < 8; of++) {
        const __m512i bytes = _mm512_permutexvar_epi8(columns, _mm512_loadu_si512(rows + 8 * of));
        square[of] = _mm512_gf2p8affine_epi64_epi8(unit, bytes, 0);
    }
    for (int of = 0; of < 8; of += 2) {
        pair[of] = _mm512_unpacklo_epi64(square[of], square[of + 1]);
        pair[of + 1] = _mm512_unpackhi_epi64(square[of], square[of + 1]);
    }
    /* pair[2i + h]: of squares 2i and 2i + 1 the columns h, h + 2, h + 4, h + 6, one pair in each quarter. */
    for (int half = 0; half < 2; half++)
        for (int of = 0; of < 8; of += 4) {
            quad[of + half] = _mm512_shuffle_i64x2(pair[of + half], pair[of + 2 + half], 0x88);
            quad[of + 2 + half] = _mm512_shuffle_i64x2(pair[of + half], pair[of + 2 + half], 0xDD);
        }
    /* quad[4i + h]: columns h, h + 4 of two squares, then of the next two; quad[4i + 2 + h]: columns h + 2, h + 6. */
    for (int of = 0; of < 4; of++) {
        const __m512i low = _mm512_shuffle_i64x2(quad[of], quad[of + 4], 0x88), high = _mm512_shuffle_i64x2(quad[of], quad[of + 4], 0xDD);
        _mm512_storeu_si512(rows + 8 * of, _mm512_permutexvar_epi8(places, low));
        _mm512_storeu_si512(rows + 8 * (of + 4), _mm512_permutexvar_epi8(places, high));
    }
}

void transpose(uint64_t rows[64])
{
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("gfni"))
        transpose_gfni(rows);
    else
        transpose_anywhere(rows);
}
#else
void transpose(uint64_t rows[64]) { transpose_anywhere(rows); }
#endif

static void load_planes(Program *program, const uint64_t *words, int k, int n)
{
    uint64_t rows[64];
    int32_t begin = 0;
    while (begin < program->load_count) {
        int32_t end = begin;
        const int word = program->loads[begin].word;
        while (end < program->load_count && program->loads[end].word == word) end++;
        for (int group = 0; group * 64 < n; group++) {
            const int length = n - group * 64 < 64 ? n - group * 64 : 64;
            const uint64_t *from = words + (size_t)group * 64 * k + word;
            for (int row = 0; row < length; row++) rows[row] = from[(size_t)row * k];
            if (length < 64) memset(rows + length, 0, (size_t)(64 - length) * sizeof *rows);
            transpose(rows);
            for (int32_t place = begin; place < end; place++) {
                const Load *load = &program->loads[place];
                program->planes[load->into].lane[group] = rows[load->bit];
            }
        }
        begin = end;
    }
}

static void note_count(Program *program, int32_t counter, const uint64_t *bits, int lanes, const uint32_t *numbers, int64_t base)
{
    int64_t found = 0;
    for (int lane = 0; lane < lanes; lane++) found += __builtin_popcountll(bits[lane]);
    if (!found) return;
    if (!program->counts[counter]) {
        int lane = 0;
        while (!bits[lane]) lane++;
        const int row = lane * 64 + lowest(bits[lane]);
        program->firsts[counter] = numbers ? (int64_t)numbers[row] : base + row;
    }
    program->counts[counter] += found;
}

#define EACH_LANE(expression) \
    do { \
        _Pragma("GCC ivdep") for (int lane = 0; lane < lanes; lane++) into[lane] = (expression); \
    } while (0)

/* `lanes` is a constant in each of the two calls below. `into` may be the same plane as `a` or `b`: lanes do not meet. */
static inline __attribute__((always_inline)) void
run_gates(Program *program, const int lanes, int n, const uint32_t *numbers, int64_t base)
{
    Plane *planes = program->planes;
    uint64_t valid[LANES], counted[LANES];
    for (int lane = 0; lane < lanes; lane++) {
        const int left = n - 64 * lane;
        valid[lane] = left >= 64 ? ~(uint64_t)0 : left > 0 ? ((uint64_t)1 << left) - 1 : 0;
    }
    for (const Gate *gate = program->gates, *end = gate + program->gate_count; gate < end; gate++) {
        const uint64_t *a = planes[gate->a].lane, *b = planes[gate->b].lane;
        if (gate->kind < GATE_COUNT) {
            uint64_t *into = planes[gate->into].lane;
            switch (gate->kind) {
            case GATE_AND: EACH_LANE(a[lane] & b[lane]); break;
            case GATE_OR: EACH_LANE(a[lane] | b[lane]); break;
            case GATE_XOR: EACH_LANE(a[lane] ^ b[lane]); break;
            case GATE_AND_NOT: EACH_LANE(a[lane] & ~b[lane]); break;
            case GATE_NOT: EACH_LANE(~a[lane]); break;
            case GATE_ZERO: EACH_LANE(0); break;
            default: EACH_LANE(~(uint64_t)0); break;
            }
        } else {
            if (gate->kind == GATE_COUNT)
                for (int lane = 0; lane < lanes; lane++) counted[lane] = a[lane] & valid[lane];
            else
                for (int lane = 0; lane < lanes; lane++) counted[lane] = ~a[lane] & valid[lane];
            note_count(program, gate->into, counted, lanes, numbers, base);
        }
    }
}

CLONES static void run_whole(Program *program, int n, const uint32_t *numbers, int64_t base)
{
    run_gates(program, LANES, n, numbers, base);
}

CLONES static void run_few(Program *program, int n, const uint32_t *numbers, int64_t base)
{
    run_gates(program, 4, n, numbers, base);
}

void run_program(Program *program, const uint64_t *words, int k, int n, const uint32_t *numbers, int64_t base)
{
    load_planes(program, words, k, n);
    if (n <= 256)
        run_few(program, n, numbers, base);
    else
        run_whole(program, n, numbers, base);
}

void gather_rows(const Program *program, const int32_t *registers, int count, int n, uint64_t *out)
{
    for (int group = 0; group * 64 < n; group++) {
        uint64_t *rows = out + (size_t)group * 64;
        for (int place = 0; place < count; place++) rows[place] = program->planes[registers[place]].lane[group];
        memset(rows + count, 0, (size_t)(64 - count) * sizeof *rows);
        transpose(rows);
    }
}
