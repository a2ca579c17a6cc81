// The list of VMs: search, filters, selection, actions.
import { comparison, compileFilter, OrderedRows } from '../lib/filter.js';
import { age, number, plural } from '../lib/format.js';
import { routeTo, vmLink } from '../lib/route.js';
import { ActionBar } from '../parts/action_bar.js';
import { attribute, fill, h, labelled, text } from '../parts/dom.js';
import { icon } from '../parts/icons.js';
import { empty, notice, statusMark, updateStatus } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { fleetState, onFleet, rows as fleet, scope, setScope, tally } from '../state/fleet.js';
import { keep, setting } from '../state/settings.js';
import { pictureOf, want } from './thumbnails.js';

const ROW = 36, ROW_WITH_PICTURE = 62, TICK_MS = 10_000;
const keyOf = row => row.key;
const plain = key => ({ make: () => h('span', { class: 'cell' }), update: (cell, row) => text(cell, row[key]) });

function columns(state) {
  return [
    { id: 'picture', title: '', make: () => h('img', { alt: '', class: 'thumb', loading: 'lazy' }), update: (cell, row) => {
      const url = state.pictures ? pictureOf(keyOf(row)) : '';
      if (cell.dataset.url !== url) { cell.dataset.url = url; if (url) cell.src = url; else cell.removeAttribute('src'); }
    } },
    { id: 'name', title: 'Name', sortable: true, make: () => h('a', { tabindex: '-1', class: 'cell strong' }), update: (cell, row) => { text(cell, row.name); attribute(cell, 'href', vmLink(row.namespace, row.name)); } },
    { id: 'status', title: 'Status', sortable: true, make: () => statusMark(), update: (cell, row) => { updateStatus(cell, row.restart && row.status === 'Running' ? 'Running (restart needed)' : row.status); attribute(cell, 'title', row.problem || null); } },
    { id: 'namespace', title: 'Namespace', sortable: true, ...plain('namespace') },
    { id: 'node', title: 'Node', sortable: true, ...plain('node') },
    { id: 'address', title: 'Address', sortable: true, ...plain('address') },
    { id: 'memory', title: 'Size', sortable: true, make: () => h('span', { class: 'cell' }), update: (cell, row) => text(cell, row.instancetype || `${row.vcpus} CPU · ${row.memory || '?'}`) },
    { id: 'created', title: 'Age', sortable: true, make: () => h('span', { class: 'cell' }), update: (cell, row) => text(cell, age(row.created, Date.now())) },
  ];
}

export function vmsView(route) {
  const state = { search: '', selector: '', namespace: '', status: '', node: '', ...route.query, pictures: setting('pictures', false), sort: 'name', descending: false };
  let matches = () => true, ordered = null, tick = 0, dirty = true;
  const actionBar = new ActionBar('Actions for the selected VMs');
  const summary = h('p', { class: 'summary', role: 'status', 'aria-live': 'polite' }), problem = h('div', {}), chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Filter by status' });
  const table = new Table(columns(state), { label: 'Virtual machines', class: 'vms', rowHeight: state.pictures ? ROW_WITH_PICTURE : ROW, keyOf, selectable: true, ticks: () => tick,
    open: row => { location.hash = vmLink(row.namespace, row.name); }, onSelect: () => selected(), onSort: column => { state.descending = state.sort === column && !state.descending; state.sort = column; dirty = true; refresh(); },
    onPaint: shown => { if (state.pictures) want(shown, () => { tick += 1; table.schedule(); }); } });
  table.element.classList.toggle('pictures', state.pictures);

  const search = h('input', { type: 'search', placeholder: 'Search: name, status:running, node:…, label:app=web', 'aria-label': 'Search VMs', value: state.search, oninput: () => { state.search = search.value; filterChanged(); } });
  const selector = h('input', { type: 'text', placeholder: 'app=web, tier!=test', value: state.selector, spellcheck: 'false', oninput: () => { state.selector = selector.value; filterChanged(); } });
  const selectors = Object.fromEntries(['namespace', 'node'].map(key => [key, h('select', { onchange: event => { state[key] = event.target.value; filterChanged(); } })]));
  const pictures = h('input', { type: 'checkbox', role: 'switch', checked: state.pictures, onchange: () => {
    state.pictures = pictures.checked;
    keep('pictures', state.pictures);
    table.element.classList.toggle('pictures', state.pictures);
    tick += 1;
    table.setRowHeight(state.pictures ? ROW_WITH_PICTURE : ROW);
  } });

  function filterChanged() {
    history.replaceState(null, '', routeTo(['vms'], { search: state.search, selector: state.selector, namespace: state.namespace, status: state.status, node: state.node }));
    dirty = true;
    refresh();
  }

  function selected() {
    const chosen = [...table.selected].map(key => fleet.get(key)).filter(Boolean);
    actionBar.show(chosen);
    describe();
  }

  function describe() {
    const chosen = table.selected.size;
    text(summary, `${table.rows.length === fleet.size ? plural(fleet.size, 'VM') : `${number(table.rows.length)} of ${plural(fleet.size, 'VM')}`}${chosen ? `, ${number(chosen)} selected` : ''}`);
  }

  // What can be chosen follows what there is, but not at every change: numbers that run help nobody.
  let countedAt = 0, later = 0, counted = '', first = true;
  function count() {
    const now = `${tally.version} ${state.namespace} ${state.node} ${state.status}`;
    if (counted === now) return;
    const wait = first ? 0 : 500 - (performance.now() - countedAt);
    if (wait > 0) { later ||= setTimeout(() => { later = 0; count(); }, wait); return; }
    countedAt = performance.now();
    counted = now;
    first = fleet.size === 0;
    for (const [key, element] of Object.entries(selectors)) {
      const found = tally.of(key), options = [['', `All ${key}s`], ...found.map(([value, times]) => [value, `${value} (${times})`])];
      if (state[key] && !found.some(([value]) => value === state[key])) options.push([state[key], `${state[key]} (0)`]);
      const wanted = JSON.stringify([options, state[key]]);
      if (element.dataset.shown === wanted) continue;
      if (document.activeElement === element) { counted = ''; continue; }  // not under somebody's hands; later
      element.dataset.shown = wanted;
      fill(element, options.map(([value, title]) => h('option', { value, selected: value === state[key] }, title)));
    }
    showChips(tally.of('status'));
  }

  function showChips(found) {
    const wanted = JSON.stringify([found.map(([value]) => value), state.status]);
    if (chips.dataset.shown === wanted) { found.forEach(([, times], at) => text(chips.children[at].lastChild, number(times))); return; }
    chips.dataset.shown = wanted;
    const focused = chips.contains(document.activeElement) ? document.activeElement.dataset.status : null;
    fill(chips, found.map(([value, times]) => h('button', { class: 'chip', 'data-status': value, 'aria-pressed': String(state.status === value), onclick: () => { state.status = state.status === value ? '' : value; filterChanged(); count(); } }, statusMark(value), h('span', { class: 'number' }, number(times)))));
    if (focused) [...chips.children].find(one => one.dataset.status === focused)?.focus();
  }

  function refresh(changed) {
    try {
      if (dirty) { matches = compileFilter(state); selector.setCustomValidity(''); }
    } catch (error) {
      selector.setCustomValidity(error.message);
      selector.reportValidity();
      return;
    }
    if (dirty || !changed) {
      ordered = new OrderedRows([...fleet.values()].filter(matches), comparison(state.sort, state.descending));
      table.setRows(ordered.rows);
      table.setSort(state.sort, state.descending);
      dirty = false;
    } else if (changed.size > 0) table.setRows(ordered.apply([...changed].map(key => { const row = fleet.get(key); return [key, row && matches(row) ? row : undefined]; })));
    describe();
    if (changed && table.selected.size > 0 && [...changed].some(key => table.selected.has(key))) {
      for (const key of changed) if (table.selected.has(key) && !fleet.has(key)) table.selected.delete(key);
      selected();
    }
    count();
    showState();
  }

  function showState() {
    const { word, error } = fleetState(), shown = `${word} ${error?.code} ${fleet.size === 0} ${table.rows.length === 0}`;
    if (problem.dataset.shown === shown) return;
    problem.dataset.shown = shown;
    table.element.classList.toggle('none', table.rows.length === 0);
    fill(problem, word === 'refused' ? scopeNotice(error) : word === 'loading' && fleet.size === 0 ? empty('Loading VMs…')
      : word === 'waiting' && error ? notice('warn', 'The connection is lost; what you see may be old.', h('p', {}, error.message, ' The page tries again by itself.'))
        : fleet.size === 0 && word === 'live' ? empty('There are no VMs yet.', h('p', {}, h('a', { class: 'button primary', href: '#/create' }, 'Create the first one')))
          : fleet.size > 0 && table.rows.length === 0 ? empty('No VM matches.', h('p', {}, h('button', { onclick: () => { Object.assign(state, { search: '', selector: '', namespace: '', status: '', node: '' }); search.value = ''; selector.value = ''; filterChanged(); } }, 'Clear the filters'))) : null);
  }

  function scopeNotice(error) {
    const input = h('input', { type: 'text', value: scope() || 'default' });
    return h('div', {}, notice('bad', scope() ? `You may not list VMs in namespace ${scope()}.` : 'You may not list VMs in all namespaces.', h('p', {}, error.message),
      h('form', { class: 'line', onsubmit: event => { event.preventDefault(); setScope(input.value.trim()); } }, labelled('Show one namespace', input), h('button', { class: 'primary' }, 'Show'))));
  }

  const element = h('section', { class: 'page list' },
    h('div', { class: 'page-head' }, h('h1', {}, 'VMs'), summary, scope() ? h('button', { class: 'chip', onclick: () => setScope('') }, `namespace ${scope()} only`, icon('close')) : null, h('div', { class: 'grow' }), h('a', { class: 'button primary', href: '#/create' }, icon('create'), 'Create')),
    h('div', { class: 'filters' }, h('div', { class: 'field grow search' }, search), labelled('Labels', selector), labelled('Namespace', selectors.namespace), labelled('Node', selectors.node), h('label', { class: 'switch' }, pictures, 'Screens')),
    chips, actionBar.element, problem, table.element);
  const stop = onFleet(changed => refresh(changed));
  const timer = setInterval(() => { tick += 1; table.schedule(); }, TICK_MS);
  refresh();
  actionBar.show([]);
  return { element, title: 'VMs', end() { stop(); clearInterval(timer); clearTimeout(later); table.end(); },
    update(next) { Object.assign(state, { search: '', selector: '', namespace: '', status: '', node: '', ...next.query }); search.value = state.search; selector.value = state.selector; dirty = true; refresh(); } };
}
