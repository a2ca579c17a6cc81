import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparison, compileFilter, OrderedRows, parseSelector, selectorMatches, Tally } from '../../ui/lib/filter.js';

const row = (name, more = {}) => ({ key: `default/${name}`, name, namespace: 'default', status: 'Running', node: 'node01', labels: {}, vcpus: 1, memory: '1Gi', created: '2026-01-01T00:00:00Z', ...more });
const none = { search: '', selector: '', namespace: '', status: '', node: '' };
const shown = (filter, rows) => rows.filter(compileFilter({ ...none, ...filter })).map(one => one.name);

test('search finds words in every column, and columns by name', () => {
  const rows = [row('web-1', { labels: { app: 'web' } }), row('db-1', { status: 'Stopped', node: '' }), row('db-2', { namespace: 'prod', node: 'node02' })];
  const table = [[{ search: 'db' }, ['db-1', 'db-2']], [{ search: 'DB run' }, ['db-2']], [{ search: 'status:stop' }, ['db-1']], [{ search: 'ns:prod' }, ['db-2']], [{ search: 'node:node02 db' }, ['db-2']],
    [{ search: 'label:app=web' }, ['web-1']], [{ search: 'app=web' }, ['web-1']], [{ search: 'none-such' }, []], [{ namespace: 'prod' }, ['db-2']], [{ status: 'Running', node: 'node01' }, ['web-1']], [{ selector: '!app' }, ['db-1', 'db-2']], [{}, ['web-1', 'db-1', 'db-2']]];
  for (const [filter, names] of table) assert.deepEqual(shown(filter, rows), names, JSON.stringify(filter));
});

test('label selectors', () => {
  const matches = (text, labels) => selectorMatches(parseSelector(text), labels);
  const table = [['', {}, true], ['a', { a: '' }, true], ['a', {}, false], ['!a', {}, true], ['a=b', { a: 'b' }, true], ['a==b', { a: 'c' }, false], ['a!=b', {}, true], ['a!=b', { a: 'b' }, false],
    ['a in (x, y), c', { a: 'y', c: '1' }, true], ['a in (x,y)', { a: 'z' }, false], ['a notin (x)', { a: 'z' }, true], ['example.com/a=b.c', { 'example.com/a': 'b.c' }, true], ['constructor', {}, false]];
  for (const [text, labels, result] of table) assert.equal(matches(text, labels), result, text);
  for (const text of ['a in', 'a=b=c', '()', 'a in (x']) assert.throws(() => parseSelector(text), /no label selector/, text);
});

test('rows keep an order that does not depend on how they came', () => {
  const rows = [row('vm-10'), row('vm-9'), row('vm-9', { namespace: 'a', key: 'a/vm-9' })];
  assert.deepEqual(rows.sort(comparison('name', false)).map(one => one.key), ['a/vm-9', 'default/vm-9', 'default/vm-10']);
  assert.deepEqual(rows.sort(comparison('status', true)).map(one => one.key), ['a/vm-9', 'default/vm-9', 'default/vm-10']);
  assert.deepEqual([row('a', { memory: '512Mi' }), row('b', { memory: '2Gi' }), row('c', { memory: '1Gi' })].sort(comparison('memory', true)).map(one => one.name), ['b', 'c', 'a']);
});

test('merging changes is the same as sorting everything', () => {
  const order = comparison('status', false), statuses = ['Running', 'Stopped', 'Paused'];
  let seed = 7;
  const random = max => (seed = (seed * 1103515245 + 12345) % 2147483648) % max;
  const all = new Map(Array.from({ length: 200 }, (_, at) => [`default/vm-${at}`, row(`vm-${at}`, { status: statuses[random(3)] })]));
  const ordered = new OrderedRows([...all.values()], order);
  for (let turn = 0; turn < 50; turn += 1) {
    const changed = new Set();
    for (let one = 0; one < 10; one += 1) {
      const key = `default/vm-${random(220)}`;
      changed.add(key);
      if (random(4) === 0) all.delete(key); else all.set(key, row(key.slice(8), { status: statuses[random(3)] }));
    }
    ordered.apply([...changed].map(key => [key, all.get(key)]));
    assert.deepEqual(ordered.rows, [...all.values()].sort(order));
  }
});

test('a change that moves nothing leaves the list and replaces the row', () => {
  const ordered = new OrderedRows([row('c'), row('a'), row('b')], comparison('name', false)), { rows } = ordered, labelled = row('b', { labels: { turn: '1' } });
  ordered.apply([['default/b', labelled], ['default/none', undefined]]);
  assert.equal(ordered.rows, rows);
  assert.equal(rows[1], labelled);
  ordered.apply([['default/a', undefined], ['default/d', row('d')]]);
  assert.deepEqual(ordered.rows.map(one => one.name), ['b', 'c', 'd']);
});

test('counts follow changes, by frequency', () => {
  const tally = new Tally(['status', 'node']), a = row('a'), b = row('b', { status: 'Stopped', node: '' });
  for (const one of [a, b, row('c')]) tally.change(undefined, one);
  assert.deepEqual([tally.of('status'), tally.of('node')], [[['Running', 2], ['Stopped', 1]], [['node01', 2]]]);
  const { version } = tally;
  tally.change(a, row('a', { labels: { turn: '1' } }));
  assert.equal(tally.version, version, 'what is not counted changes no number');
  tally.change(b, { ...b, status: 'Running', node: 'node02' });
  tally.change(a, undefined);
  assert.deepEqual([tally.of('status'), tally.of('node')], [[['Running', 2]], [['node01', 1], ['node02', 1]]]);
  tally.clear();
  assert.deepEqual(tally.of('status'), []);
});
