// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/scope.h"

struct unit unit_count(uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%ju", (uintmax_t)n);
	struct unit u = { "" };
	char *out = u.text;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return u;
}

/* @n in units of @scale, with three digits that matter. False if it rounds to 1000 or more. */
static bool scaled(struct unit *u, uint64_t n, uint64_t scale, const char *name)
{
	uint64_t whole = n / scale, rest = n % scale;

	for (uint64_t parts = 100; parts > 1; parts /= 10) {
		uint64_t v = whole * parts + (rest * parts + scale / 2) / scale;

		if (v >= 1000)
			continue;
		snprintf(u->text, sizeof(u->text), "%ju.%s%ju %s", (uintmax_t)(v / parts),
			 parts == 100 && v % parts < 10 ? "0" : "", (uintmax_t)(v % parts), name);
		return true;
	}
	whole += rest >= scale / 2;
	if (whole >= 1000)
		return false;
	snprintf(u->text, sizeof(u->text), "%ju %s", (uintmax_t)whole, name);
	return true;
}

struct unit unit_ns(uint64_t ns)
{
	static const struct {
		uint64_t scale;
		const char *name;
	} scales[] = { { 1000, "us" }, { 1000000, "ms" }, { 1000000000, "s" } };
	struct unit u = { "" };

	if (ns < 1000) {
		snprintf(u.text, sizeof(u.text), "%ju ns", (uintmax_t)ns);
		return u;
	}
	for (int i = 0; i < 3; i++)
		if (scaled(&u, ns, scales[i].scale, scales[i].name))
			return u;
	u = unit_count(ns / 1000000000 + (ns % 1000000000 >= 500000000));
	strcat(u.text, " s");		/* at most 26 + 2 characters */
	return u;
}

struct unit unit_ns_real(double ns)
{
	struct unit u = { "" };

	if (ns >= 99.95)
		return unit_ns(ns < 1e18 ? (uint64_t)(ns + 0.5) : 1000000000000000000);
	snprintf(u.text, sizeof(u.text), ns > 0 && ns < 9.995 ? "%.2f ns" : "%.1f ns", ns);
	return u;
}

struct unit unit_real(double v)
{
	struct unit u = { "" };

	if (!(v > 0))
		return (struct unit){ "0" };
	if (v >= 99.95)
		return unit_count(v < 1e18 ? (uint64_t)(v + 0.5) : 1000000000000000000);
	snprintf(u.text, sizeof(u.text), v >= 0.95 ? "%.1f" : "%.2g", v);
	return u;
}

struct unit unit_fact(double v)
{
	struct unit u = { "" };

	if (!(v > 0))
		return (struct unit){ "0" };
	if (v >= 1e5 || v == (uint64_t)v)
		return unit_count(v < 1e18 ? (uint64_t)(v + 0.5) : 1000000000000000000);
	snprintf(u.text, sizeof(u.text), "%.6g", v);
	return u;
}

struct unit unit_bytes(double bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct unit u = { "" };
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(u.text, sizeof(u.text), "%.24s B", unit_real(bytes).text);
		return u;
	}
	for (bytes /= 1024; bytes >= 1024 && i + 1 < ARRAY_LEN(names); i++)
		bytes /= 1024;
	snprintf(u.text, sizeof(u.text), "%.24s %s", unit_real(bytes).text, names[i]);
	return u;
}

struct unit unit_per_s(double v)
{
	struct unit u = unit_real(v);

	strcat(u.text, " per s");
	return u;
}

struct unit unit_rate(uint64_t n, uint64_t ns)
{
	return ns ? unit_per_s(n * 1e9 / ns) : (struct unit){ "-" };
}

struct unit unit_ratio(double v)
{
	struct unit u = { "" };

	if (v < 0.0995)
		snprintf(u.text, sizeof(u.text), "%.2g", v);
	else if (v < 9.995)
		snprintf(u.text, sizeof(u.text), "%.2f", v);
	else
		u = unit_real(v);
	strcat(u.text, "x");
	return u;
}

struct unit unit_spread(double share)
{
	struct unit u = { "" };

	if (share < 0.005)
		return (struct unit){ "+-<1 %" };
	snprintf(u.text, sizeof(u.text), "+-%.24s %%", unit_count(share < 1e16 ? 100 * share + 0.5 : 1e18).text);
	return u;
}

struct unit unit_share(double share)
{
	struct unit u = { "" };
	double percent = 100 * share;

	if (percent > 0 && percent < 0.05)
		return (struct unit){ "<0.1 %" };
	if (percent < 100 && percent >= 99.95)
		return (struct unit){ ">99.9 %" };
	if (!(percent > 0))
		return (struct unit){ "0 %" };
	if (percent == 100)
		return (struct unit){ "100 %" };
	if (percent >= 1000)
		u = unit_real(percent);
	else
		snprintf(u.text, sizeof(u.text), "%.1f", percent);
	strcat(u.text, " %");
	return u;
}

struct unit unit_share_of(uint64_t part, uint64_t whole)
{
	if (!whole)
		return (struct unit){ "-" };
	if (part < whole && (double)part == (double)whole)
		return unit_share(0.999999);	/* which a double cannot tell from all of it */
	return unit_share((double)part / whole);
}
