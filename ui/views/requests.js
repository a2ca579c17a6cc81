// The journal of requests, live: who asked for what, and what became of it.
import { resourcePath } from '../client/client.js';
import { clock } from '../lib/format.js';
import { routeTo } from '../lib/route.js';
import { codeTone, requestText, requestWords } from '../lib/story.js';
import { attribute, fill, h, text } from '../parts/dom.js';
import { empty, notice, statusMark, updateStatus } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { Collection } from '../state/collection.js';
import { scope } from '../state/fleet.js';

const ROW = 36, KEPT_MAX = 2000, LISTED = 500;

export function requestRow(request) {
  return { key: `${request.metadata.namespace}/${request.metadata.name}`, id: request.metadata.name, name: request.metadata.name, namespace: request.metadata.namespace ?? '', version: request.metadata.resourceVersion, order: Number(request.metadata.resourceVersion),
    time: request.metadata.creationTimestamp, user: request.spec?.user ?? '-', what: requestWords(request.spec ?? {}), whole: requestText(request.spec ?? {}), code: request.status?.code ?? 0, reason: request.status?.reason ?? '', verdict: request.status?.verdict ?? '', object: request.spec?.name ?? '' };
}

const link = row => routeTo(['requests', row.namespace, row.id]);
const plain = key => ({ make: () => h('span', { class: 'cell' }), update: (cell, row) => { text(cell, row[key]); attribute(cell, 'title', row[key] || null); } });
const COLUMNS = [
  { id: 'time', title: 'Time', make: () => h('span', { class: 'cell' }), update: (cell, row) => text(cell, clock(row.time, Date.now())) },
  { id: 'code', title: 'Answer', make: () => statusMark(), update: (cell, row) => { const told = `${row.code} ${row.reason}`.trim(); updateStatus(cell, told, codeTone(row.code)); attribute(cell, 'title', told); } },
  { id: 'what', title: 'Request', make: () => h('a', { class: 'cell strong', tabindex: '-1' }), update: (cell, row) => { text(cell, row.what); attribute(cell, 'title', row.whole); attribute(cell, 'href', link(row)); } },
  { id: 'verdict', title: 'What became of it', ...plain('verdict') }, { id: 'user', title: 'User', ...plain('user') }, { id: 'namespace', title: 'Namespace', ...plain('namespace') },
];

/** filter: {namespace, name, search} */
export function requestsList(filter) {
  const collection = new Collection(requestRow, request => `${request.metadata.namespace}/${request.metadata.name}`), problem = h('div', {}), state = { search: filter.search ?? '', refused: filter.refused ?? '' };
  const table = new Table(COLUMNS, { label: 'Requests', class: 'requests', rowHeight: ROW, keyOf: row => row.key, open: row => { location.hash = link(row); } });
  const search = h('input', { type: 'search', placeholder: 'Search requests, users, verdicts', 'aria-label': 'Search requests', value: state.search, oninput: () => { state.search = search.value; show(); } });
  const refused = h('input', { type: 'checkbox', checked: Boolean(state.refused), onchange: () => { state.refused = refused.checked; show(); } });

  function show() {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...collection.rows.values()].filter(row => (!filter.name || row.object === filter.name) && (!state.refused || row.code >= 400) && words.every(word => `${row.what} ${row.whole} ${row.user} ${row.verdict} ${row.namespace} ${row.code} ${row.id}`.toLowerCase().includes(word)));
    rows.sort((a, b) => b.order - a.order);
    while (collection.rows.size > KEPT_MAX) collection.rows.delete(collection.rows.keys().next().value);
    table.setRows(rows);
    table.element.classList.toggle('none', rows.length === 0);
    const shown = `${collection.state} ${rows.length === 0}`;
    if (problem.dataset.shown === shown) return;
    problem.dataset.shown = shown;
    fill(problem, collection.state === 'refused' ? notice('bad', 'You may not see requests.', h('p', {}, collection.error?.message ?? '', ' It needs the verbs list and watch on requests in group trace.virtgate.io.'))
      : rows.length === 0 ? empty(collection.state === 'loading' ? 'Loading requests…' : 'No request matches.', h('p', { class: 'muted' }, 'Creations, changes, actions and refusals appear here as they happen.')) : null);
  }

  const stop = collection.listen(show);
  collection.start(resourcePath('requests', filter.namespace || scope()), { limit: LISTED, ...(filter.name ? { fieldSelector: `spec.name=${filter.name}` } : {}) });
  show();
  return { element: h('div', { class: 'fill' }, h('div', { class: 'filters' }, h('div', { class: 'field grow search' }, search), h('label', { class: 'switch' }, refused, 'Refused only')), problem, table.element), end() { stop(); collection.stop(); table.end(); } };
}

export function requestsView(route) {
  const list = requestsList(route.query), { name, namespace } = route.query;
  return { element: h('section', { class: 'page list' }, h('div', { class: 'page-head' }, h('h1', {}, name ? `Requests for ${name}` : 'Requests'), name ? h('a', { href: '#/requests' }, 'Show all') : null, namespace ? h('span', { class: 'muted' }, namespace) : null), list.element), title: 'Requests', end: list.end };
}

