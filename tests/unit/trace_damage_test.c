// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whatever happened to a file, the reader says so and where; a cut file is read up to the cut. */
#include "tests/unit/trace_file.h"

#include <zstd.h>

#include "trace/chunk.h"
#include "trace/encode.h"

#define NR_SMALL 6

static const struct event small[NR_SMALL] = {
	{ .kind = EVENT_LOCK, .ts_ns = 1000, .thread = 0x7f00, .seq = 1 },
	{ .kind = EVENT_NAME, .ts_ns = 1000, .tid = 77, .text_len = 4, .text = "main" },
	{ .kind = EVENT_OWNER, .ts_ns = 2000, .thread = 0xabc0, .tid = 77, .seq = 9 },
	{ .kind = EVENT_QUEUE, .ts_ns = 1990, .thread = 0xdef0, .tid = 78 },
	{ .kind = EVENT_OWNER, .ts_ns = 3000, .thread = 0, .tid = 77, .seq = 10 },
	{ .kind = EVENT_STATE_END, .ts_ns = 4000 },
};

/* A trace of the six events in three chunks. */
static uint8_t *small_trace(size_t *size)
{
	auto_close int fd = file_with(small, NR_SMALL, 2);

	return file_bytes(fd, size);
}

static size_t chunk_size(const uint8_t *at)
{
	struct chunk c;

	assert_null(chunk_get(&c, at));
	return CHUNK_HEADER_SIZE + c.stored_size;
}

static void an_empty_file_is_not_a_trace(void **state)
{
	auto_close int fd = file_of("", 0);
	struct reading in;

	(void)state;
	file_read(&in, fd, NULL, 0);
	assert_int_equal(in.got, -EINVAL);
	assert_int_equal(in.e.reason, REASON_TRACE_FORMAT);
	assert_string_equal(in.e.msg, "NAME: empty, not a trace");
}

static void another_file_is_not_a_trace(void **state)
{
	static const char *const texts[] = { "x", "{\"schema\": 1}",
					     "\x89PNG\r\n\x1a\n more of it" };
	struct reading in;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		auto_close int fd = file_of(texts[i], strlen(texts[i]));

		file_read(&in, fd, NULL, 0);
		assert_int_equal(in.e.reason, REASON_TRACE_FORMAT);
		assert_string_equal(in.e.msg, "NAME: not a trace");
	}
}

static void a_directory_cannot_be_read(void **state)
{
	auto_close int fd = open("/", O_RDONLY | O_CLOEXEC);
	struct reading in;

	(void)state;
	file_read(&in, fd, NULL, 0);
	assert_int_equal(in.got, -EISDIR);
	assert_int_equal(in.e.reason, REASON_SYS);
	assert_string_equal(in.e.msg, "cannot read NAME: Is a directory");
}

static void a_newer_format_is_refused(void **state)
{
	uint8_t header[FILE_HEADER_SIZE];
	auto_close int fd = -1;
	struct reading in;

	(void)state;
	file_header_put(header, TRACE_VERSION + 1);
	fd = file_of(header, sizeof(header));
	file_read(&in, fd, NULL, 0);
	assert_int_equal(in.e.reason, REASON_TRACE_VERSION);
	assert_string_equal(in.e.msg,
			    "NAME: a trace of format 3, this program reads format 2");
}

static void a_file_cut_anywhere_reads_up_to_its_last_whole_chunk(void **state)
{
	size_t size, end_of_facts, at, nr = 0;
	auto_free uint8_t *data = small_trace(&size);
	struct reading in;

	(void)state;
	end_of_facts = FILE_HEADER_SIZE + chunk_size(data + FILE_HEADER_SIZE);
	at = end_of_facts;
	for (size_t cut = 1; cut < size; cut++) {
		auto_close int fd = file_of(data, cut);

		if (nr < NR_SMALL && cut == at + chunk_size(data + at)) {
			at = cut;
			nr += 2;
		}
		file_read(&in, fd, small, NR_SMALL);
		if (cut < FILE_HEADER_SIZE) {
			assert_int_equal(in.e.reason, REASON_TRACE_FORMAT);
			assert_non_null(strstr(in.e.msg, "bytes of a trace"));
			continue;
		}
		assert_int_equal(in.got, 0);
		assert_int_equal(in.nr, nr);
		assert_false(in.is_complete);
		assert_string_equal(in.facts, cut < end_of_facts ? "{}" : FACTS);
	}
	assert_int_equal(nr, NR_SMALL);
}

static void each_flipped_bit_is_noticed(void **state)
{
	size_t size;
	auto_free uint8_t *data = small_trace(&size);
	struct reading in;

	(void)state;
	for (size_t bit = 0; bit < size * 8; bit++) {
		bool in_magic = bit < 8 * 8;
		int fd;

		data[bit / 8] ^= 1 << bit % 8;
		fd = file_of(data, size);
		file_read(&in, fd, small, NR_SMALL);
		close(fd);
		data[bit / 8] ^= 1 << bit % 8;
		if (in.got != -EINVAL ||
		    in.e.reason != (in_magic ? REASON_TRACE_FORMAT : REASON_TRACE_DAMAGED) ||
		    strncmp(in.e.msg, in_magic ? "NAME: not" : "NAME: damaged at byte ", 9) != 0)
			fail_msg("bit %zu of byte %zu: got %d, reason %s, \"%s\"", bit % 8, bit / 8,
				 in.got, reason_id(in.e.reason), in.e.msg);
	}
}

static void damage_names_the_position_of_its_chunk(void **state)
{
	size_t size, at;
	auto_free uint8_t *data = small_trace(&size);
	auto_close int fd = -1;
	struct reading in;
	char want[64];

	(void)state;
	at = FILE_HEADER_SIZE + chunk_size(data + FILE_HEADER_SIZE);
	at += chunk_size(data + at);
	data[at + CHUNK_HEADER_SIZE + 5]++;
	fd = file_of(data, size);
	file_read(&in, fd, small, NR_SMALL);
	assert_int_equal(in.nr, 2);
	snprintf(want, sizeof(want), "NAME: damaged at byte %zu: the chunk's checksum differs", at);
	assert_string_equal(in.e.msg, want);
}

static void assert_damaged(const uint8_t *data, size_t size, const char *why)
{
	auto_close int fd = file_of(data, size);
	struct reading in;

	file_read(&in, fd, NULL, 0);
	if (in.got != -EINVAL || in.e.reason != REASON_TRACE_DAMAGED || !strstr(in.e.msg, why))
		fail_msg("got %d, reason %s, \"%s\", want \"%s\"", in.got, reason_id(in.e.reason),
			 in.e.msg, why);
}

static void a_lost_chunk_is_noticed(void **state)
{
	size_t size, at, next;
	auto_free uint8_t *data = small_trace(&size);

	(void)state;
	at = FILE_HEADER_SIZE + chunk_size(data + FILE_HEADER_SIZE);
	next = at + chunk_size(data + at);
	memmove(data + at, data + next, size - next);
	assert_damaged(data, size - (next - at), "a chunk is missing");
}

static void bytes_after_the_last_chunk_are_noticed(void **state)
{
	size_t size;
	auto_free uint8_t *data = small_trace(&size);

	(void)state;
	data[size] = 0;		/* there is room for it */
	assert_damaged(data, size + 1, "bytes after the last chunk");
}

/* A trace that was well made from bad contents: all checksums fit. */
struct craft {
	uint8_t file[16384];
	size_t size;
	struct encoder encoder;
	struct chunk chunk;
};

/* The start of a trace, and the events of one chunk. */
static void craft_start(struct craft *k)
{
	size_t size;
	auto_free uint8_t *data = small_trace(&size);
	struct encoder *enc = &k->encoder;

	k->size = FILE_HEADER_SIZE + chunk_size(data + FILE_HEADER_SIZE);
	memcpy(k->file, data, k->size);
	encoder_reset(enc);
	for (int i = NR_SMALL - 1; i >= 0; i--)		/* a text is near the end */
		encoder_add(enc, &small[i]);
	k->chunk = (struct chunk){
		.kind = CHUNK_EVENTS, .number = 1, .nr_events = enc->nr_events,
		.first_ns = enc->first_ns, .last_ns = enc->last_ns,
	};
}

static void craft_chunk(struct craft *k, const void *raw, size_t raw_size)
{
	uint8_t *at = k->file + k->size, *stored = at + CHUNK_HEADER_SIZE;
	size_t size = ZSTD_compress(stored, sizeof(k->file) - k->size - CHUNK_HEADER_SIZE, raw,
				    raw_size, 1);

	assert_false(ZSTD_isError(size));
	if (!k->chunk.stored_size)
		k->chunk.stored_size = size;
	if (!k->chunk.raw_size)
		k->chunk.raw_size = raw_size;
	k->chunk.crc = chunk_crc(0, stored, size);
	chunk_put(at, &k->chunk);
	k->size += CHUNK_HEADER_SIZE + size;
}

static void craft_events(struct craft *k)
{
	uint8_t raw[32768];
	size_t size = TRACE_TABLE_SIZE;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		const struct column *c = &k->encoder.columns[i];

		put_le32(raw + i * sizeof(uint32_t), c->size);
		memcpy(raw + size, c->bytes, c->size);
		size += c->size;
	}
	craft_chunk(k, raw, size);
}

/* The same with a good chunk before it, of which the reader may remember nothing. */
static void craft_second(struct craft *k)
{
	struct chunk c;

	craft_start(k);
	c = k->chunk;
	craft_events(k);
	c.number++;
	k->chunk = c;
}

/* What to spoil: a byte of a column, a column's size, or the header. */
struct spoil {
	const char *why;
	enum column_id column;
	int at;				/* AT_TEXT: where the text says its length */
	int value;			/* -1: leave the bytes */
	int size;
	int grow;			/* change of the column's size */
	struct chunk chunk;		/* members that are not 0 replace those of the header */
};

#define AT_TEXT -1
#define BYTES(text, id, pos, byte, nr) \
	{ .why = text, .column = id, .at = pos, .value = byte, .size = nr }
#define BYTE(text, id, pos, byte) BYTES(text, id, pos, byte, 1)
#define SIZE(text, id, by) { .why = text, .column = id, .value = -1, .grow = by }
#define HEADER(text, ...) { .why = text, .value = -1, .chunk = { __VA_ARGS__ } }

static const struct spoil spoils[] = {
	BYTE("an event of unknown kind", COLUMN_RARE, 0, EVENT_KIND_END),
	BYTE("an event of unknown kind", COLUMN_RARE, 0, 0),
	BYTE("a shape of unknown form", COLUMN_RARE, 2, 3),
	BYTE("an owner that is not known", COLUMN_RARE, 2, THREAD_OWNER),
	BYTE("a tid that is not known", COLUMN_RARE, 2, TID_OWNER << SHAPE_TID),
	BYTE("a tid that is not known", COLUMN_RARE, 2, TID_SUBJECT << SHAPE_TID),
	BYTE("a tid out of range", COLUMN_RARE, 2 * SHAPE_SIZE, 0x9b),
	{ .why = "a time out of range", .column = COLUMN_TIME_HIGH, .value = 0xff, .size = 9,
	  .grow = 4 },
	BYTES("a sequence number out of range", COLUMN_RARE, 2 * SHAPE_SIZE + 2, 0xff, 5),
	BYTE("a text of impossible length", COLUMN_RARE, AT_TEXT, 0),
	BYTE("a text of impossible length", COLUMN_RARE, AT_TEXT, EVENT_TEXT_MAX + 1),
	BYTE("a text is cut", COLUMN_RARE, AT_TEXT, EVENT_TEXT_MAX),
	BYTE("a time outside of the chunk's range", COLUMN_RARE, 2, SHAPE_BACK),
	SIZE("a shape is cut", COLUMN_RARE, -1000),
	BYTE("a shape that does not exist", COLUMN_SHAPE, 1, 2),
	SIZE("the column of shapes is cut", COLUMN_SHAPE, -1),
	SIZE("a column of times is cut", COLUMN_TIME_LOW, -1),
	SIZE("a column of times is cut", COLUMN_TIME_HIGH, -1),
	BYTE("a time outside of the chunk's range", COLUMN_TIME_HIGH, 0, 100),
	SIZE("the column of threads is cut", COLUMN_THREAD, -1),
	BYTE("a thread that does not exist", COLUMN_THREAD, 0, 1),
	SIZE("the column of tids is cut", COLUMN_TID, -1),
	BYTE("a tid that does not exist", COLUMN_TID, 0, 1),
	SIZE("bytes beyond the last event", COLUMN_SHAPE, 1),
	SIZE("bytes beyond the last event", COLUMN_TIME_LOW, 1),
	SIZE("bytes beyond the last event", COLUMN_TID, 1),
	SIZE("bytes beyond the last event", COLUMN_RARE, 1),
	HEADER("bytes beyond the last event", .nr_events = NR_SMALL - 1),
	HEADER("the column of shapes is cut", .nr_events = NR_SMALL + 1),
	HEADER("the number of events is not possible", .nr_events = 32769),
	HEADER("too small for its events", .nr_events = 32768),
	HEADER("a time outside of the chunk's range", .last_ns = 3999),
	HEADER("a time outside of the chunk's range", .first_ns = 1001),
	HEADER("no event at the begin or end", .last_ns = 4001),
	HEADER("no event at the begin or end", .first_ns = 999),
	HEADER("ends before it begins", .first_ns = 4001),
	HEADER("larger than any can be", .raw_size = (1 << 20) + 1),
	HEADER("larger than any can be", .raw_size = UINT32_MAX),
	HEADER("larger than its contents", .stored_size = UINT32_MAX),
	HEADER("larger than its contents", .stored_size = 4096),
	HEADER("holds less than its header says", .raw_size = 4096),
	HEADER("Destination buffer is too small", .raw_size = 60),
	HEADER("a chunk is missing", .number = 3),
	HEADER("text with events", .kind = CHUNK_TOTALS),
	HEADER("facts that are not the first chunk", .kind = CHUNK_FACTS),
};

static void spoil_column(struct column *c, const struct spoil *s)
{
	const uint8_t *text = memmem(c->bytes, c->size, "main", 4);
	long at = s->at == AT_TEXT ? text - c->bytes - 1 : s->at;

	if (s->value >= 0)
		memset(c->bytes + at, s->value, s->size);
	if (s->grow < 0 && c->size < (uint32_t)-s->grow)
		c->size = 0;
	else
		c->size += s->grow;
}

static void spoil_header(struct chunk *c, const struct chunk *by)
{
	c->kind = by->kind ? by->kind : c->kind;
	c->number = by->number ? by->number : c->number;
	c->stored_size = by->stored_size;
	c->raw_size = by->raw_size;
	c->nr_events = by->nr_events ? by->nr_events : c->nr_events;
	c->first_ns = by->first_ns ? by->first_ns : c->first_ns;
	c->last_ns = by->last_ns ? by->last_ns : c->last_ns;
}

/* The file reads without error, and has so many events. */
static void assert_reads(const uint8_t *data, size_t size, size_t nr, bool is_complete)
{
	auto_close int fd = file_of(data, size);
	struct reading in;

	file_read(&in, fd, NULL, 0);
	assert_string_equal(in.e.msg, "");
	assert_int_equal(in.got, 0);
	assert_int_equal(in.nr, nr);
	assert_int_equal(in.is_complete, is_complete);
}

static void checksums_do_not_make_nonsense_a_trace(void **state)
{
	auto_free struct craft *k = calloc(1, sizeof(*k));

	(void)state;
	assert_non_null(k);
	craft_second(k);
	craft_events(k);
	assert_reads(k->file, k->size, 2 * NR_SMALL, false);

	for (size_t i = 0; i < ARRAY_LEN(spoils); i++) {
		const struct spoil *s = &spoils[i];

		craft_second(k);
		spoil_column(&k->encoder.columns[s->column], s);
		spoil_header(&k->chunk, &s->chunk);
		craft_events(k);
		assert_damaged(k->file, k->size, s->why);
	}
}

static void a_column_cannot_reach_beyond_its_chunk(void **state)
{
	auto_free struct craft *k = calloc(1, sizeof(*k));
	uint8_t raw[256] = { 0 };

	(void)state;
	assert_non_null(k);
	craft_start(k);
	put_le32(raw, sizeof(raw));
	craft_chunk(k, raw, sizeof(raw));
	assert_damaged(k->file, k->size, "a column reaches beyond the chunk");

	craft_start(k);
	put_le32(raw, sizeof(raw) - TRACE_TABLE_SIZE - 1);
	craft_chunk(k, raw, sizeof(raw));
	assert_damaged(k->file, k->size, "bytes outside of the columns");
}

static void a_chunk_has_no_more_locks_than_it_can_have(void **state)
{
	auto_free struct craft *k = calloc(1, sizeof(*k));
	struct event ev = { .kind = EVENT_QUEUE };

	(void)state;
	assert_non_null(k);
	for (int nr = TRACE_LOCKS_MAX; nr <= TRACE_LOCKS_MAX + 1; nr++) {
		craft_start(k);
		encoder_reset(&k->encoder);
		for (int i = 0; i < nr; i++) {
			ev.lock = i;
			encoder_add(&k->encoder, &ev);
		}
		k->chunk = (struct chunk){ .kind = CHUNK_EVENTS, .number = 1, .nr_events = nr };
		craft_events(k);
		if (nr > TRACE_LOCKS_MAX)
			assert_damaged(k->file, k->size, "more locks than a chunk can have");
		else
			assert_reads(k->file, k->size, nr, false);
	}
}

static void a_text_cannot_hide_behind_a_nul(void **state)
{
	auto_free struct craft *k = calloc(1, sizeof(*k));

	(void)state;
	assert_non_null(k);
	craft_start(k);
	k->chunk = (struct chunk){ .kind = CHUNK_TOTALS, .number = 1 };
	craft_chunk(k, "{}\0{}", 5);
	assert_damaged(k->file, k->size, "a NUL in a text");
}

static void chunks_of_unknown_kind_are_skipped(void **state)
{
	auto_free struct craft *k = calloc(1, sizeof(*k));
	size_t skipped;

	(void)state;
	assert_non_null(k);
	craft_start(k);
	skipped = k->size;
	k->chunk = (struct chunk){ .kind = 4711, .number = 1, .raw_size = UINT32_MAX,
				   .nr_events = 99 };
	craft_chunk(k, "something new", 13);
	k->chunk = (struct chunk){ .kind = CHUNK_EVENTS, .number = 2, .nr_events = NR_SMALL,
				   .first_ns = 1000, .last_ns = 4000 };
	craft_events(k);
	k->chunk = (struct chunk){ .kind = CHUNK_TOTALS, .number = 3 };
	craft_chunk(k, TOTALS, strlen(TOTALS));
	assert_reads(k->file, k->size, NR_SMALL, true);

	k->file[skipped + CHUNK_HEADER_SIZE + 1]++;
	assert_damaged(k->file, k->size, "the chunk's checksum differs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_is_not_a_trace),
		cmocka_unit_test(another_file_is_not_a_trace),
		cmocka_unit_test(a_directory_cannot_be_read),
		cmocka_unit_test(a_newer_format_is_refused),
		cmocka_unit_test(a_file_cut_anywhere_reads_up_to_its_last_whole_chunk),
		cmocka_unit_test(each_flipped_bit_is_noticed),
		cmocka_unit_test(damage_names_the_position_of_its_chunk),
		cmocka_unit_test(a_lost_chunk_is_noticed),
		cmocka_unit_test(bytes_after_the_last_chunk_are_noticed),
		cmocka_unit_test(checksums_do_not_make_nonsense_a_trace),
		cmocka_unit_test(a_column_cannot_reach_beyond_its_chunk),
		cmocka_unit_test(a_chunk_has_no_more_locks_than_it_can_have),
		cmocka_unit_test(a_text_cannot_hide_behind_a_nul),
		cmocka_unit_test(chunks_of_unknown_kind_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
