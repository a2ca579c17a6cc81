import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, bytes, clock, percent, plural, quantity, span } from '../../ui/lib/format.js';

test('spans are the two largest units', () => {
  const rows = [[0, '0s'], [8, '8s'], [60, '1m'], [75, '1m 15s'], [3600, '1h'], [3661, '1h 1m'], [90061, '1d 1h'], [86400 * 3 + 5, '3d'], [-5, '0s']];
  for (const [seconds, text] of rows) assert.equal(span(seconds), text, String(seconds));
  assert.equal(age('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:02:03Z')), '2m 3s');
  assert.equal(age('nonsense', 0), '');
  assert.equal(age(undefined, 0), '');
});

test('bytes and parts', () => {
  for (const [count, text] of [[0, '0 B'], [1023, '1023 B'], [1536, '1.5 KiB'], [128 << 20, '128 MiB'], [-2048, '-2 KiB'], [NaN, '']]) assert.equal(bytes(count), text);
  for (const [part, text] of [[0, '0%'], [0.0001, 'less than 0.1%'], [0.002, '0.2%'], [0.5, '50%'], [2.5, '250%'], [NaN, '']]) assert.equal(percent(part), text);
  assert.equal(plural(1, 'VM'), '1 VM');
  assert.equal(plural(10000, 'VM'), '10,000 VMs');
});

test('quantities of Kubernetes', () => {
  for (const [text, value] of [['128Mi', 128 * 2 ** 20], ['1k', 1000], ['500m', 0.5], ['2', 2], [3, 3], ['1e3', 1000], ['4Ti', 4 * 2 ** 40], ['1.5Gi', 1.5 * 2 ** 30]]) assert.equal(quantity(text), value, text);
  for (const text of ['', 'x', '1Kii', '1 Gi', null, undefined, '<script>']) assert.ok(Number.isNaN(quantity(text)), String(text));
});

test('a clock has the date on another day', () => {
  const noon = new Date(2026, 4, 6, 12, 0, 5);
  assert.equal(clock(noon.toISOString(), noon.getTime()), '12:00:05');
  assert.equal(clock(noon.toISOString(), noon.getTime() + 86400_000), '2026-05-06 12:00:05');
  assert.equal(clock('', 0), '');
});
