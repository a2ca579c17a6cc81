// A table of any length: only the rows in sight exist. Rows have one height, so that every place is known without measuring.
// The keyboard: arrows, Page Up/Down, Home and End move the active row, Space selects it, Enter opens it.
import { attribute, freshId, h } from './dom.js';

const OVERSCAN = 6, SORT_MS = 150;

// A text that is cut off is shown whole under the mouse.
function tellWhole(holder) {
  const cell = holder?.firstElementChild;
  if (cell) attribute(holder, 'title', [cell, cell.lastElementChild].some(one => one && one.scrollWidth > one.clientWidth) ? cell.textContent : null);
}

/**
 * columns: [{id, title, sortable, make() -> element, update(element, row)}]. options: {label, rowHeight, keyOf(row), open(row), selectable, onSelect(keys), onSort(column)}.
 */
export class Table {
  rows = [];
  selected = new Set();
  #slots = [];  // {element, cells, row, index}: the row with number n is in slot n % length
  #sorting = 0;
  #active = -1;
  #frame = 0;
  #anchor = -1;

  constructor(columns, options) {
    Object.assign(this, { columns, options });
    this.id = freshId('table');
    this.rowHeight = options.rowHeight;
    this.head = h('div', { class: 'row head', role: 'row', 'aria-rowindex': '1' }, options.selectable ? this.#headCheck() : null, columns.map(column => this.#headCell(column)));
    this.window = h('div', { class: 'window', role: 'presentation' });
    this.space = h('div', { class: 'space', role: 'rowgroup' }, this.window);
    this.element = h('div', { class: `table ${options.class ?? ''}`, role: 'grid', tabindex: '0', 'aria-label': options.label, 'aria-multiselectable': options.selectable ? 'true' : null,
      onscroll: () => this.schedule(), onmouseover: event => tellWhole(event.target.closest('[role=gridcell]')), onkeydown: event => this.#key(event) }, h('div', { role: 'rowgroup', class: 'headgroup' }, this.head), this.space);
    this.resize = new ResizeObserver(() => this.schedule());
    this.resize.observe(this.element);
  }

  end() { this.resize.disconnect(); cancelAnimationFrame(this.#frame); clearTimeout(this.#sorting); }

  setRows(rows) {
    const active = this.rows[this.#active];
    this.rows = rows;
    // The active row stays the active one, wherever it went.
    if (active && rows[this.#active] !== active) this.#active = rows.findIndex(row => this.options.keyOf(row) === this.options.keyOf(active));
    attribute(this.element, 'aria-rowcount', String(rows.length + 1));
    this.schedule();
  }

  setRowHeight(pixels) { this.rowHeight = pixels; this.schedule(); }

  setSort(column, descending) {
    for (const cell of this.head.children) {
      if (!cell.dataset.column) continue;
      const sorted = cell.dataset.column === column;
      attribute(cell, 'aria-sort', sorted ? (descending ? 'descending' : 'ascending') : null);
    }
  }

  select(keys) { this.selected = new Set(keys); this.#selectionChanged(); }

  /** At most once a frame. */
  schedule() { this.#frame ||= requestAnimationFrame(() => { this.#frame = 0; this.paint(); }); }

  paint() {
    const height = this.rowHeight, total = `${this.rows.length * height}px`;
    if (this.space.style.height !== total) this.space.style.height = total;
    if (this.element.style.getPropertyValue('--row') !== `${height}px`) this.element.style.setProperty('--row', `${height}px`);
    const visible = Math.ceil(this.element.clientHeight / height) + 2 * OVERSCAN;
    const count = Math.min(this.rows.length, visible);
    const first = Math.max(0, Math.min(Math.floor(this.element.scrollTop / height) - OVERSCAN, this.rows.length - count));
    this.#fit(count);
    for (let index = first; index < first + count; index += 1) this.#update(this.#slots[index % count], index);
    attribute(this.element, 'aria-activedescendant', this.#active >= first && this.#active < first + count ? `${this.id}-${this.#active}` : null);
    this.options.onPaint?.(this.rows.slice(first, first + count));
  }

  #fit(count) {
    while (this.#slots.length < count) { const slot = this.#slot(); this.#slots.push(slot); this.window.append(slot.element); }
    while (this.#slots.length > count) this.#slots.pop().element.remove();
  }

  // Rows that leave at one end come back at the other; those between are not touched, so that nothing of them is laid out or painted again.
  // The document, which screen readers go by, has the order of the screen once the scrolling rests.
  #sortLater() {
    clearTimeout(this.#sorting);
    this.#sorting = setTimeout(() => {
      let last = null;
      for (const { element } of [...this.#slots].sort((a, b) => a.index - b.index)) {
        if (element.previousSibling !== last) { if (last) last.after(element); else this.window.prepend(element); }
        last = element;
      }
    }, SORT_MS);
  }

  #slot() {
    const slot = { row: null, cells: [], check: null, index: -1, top: -1 };
    const cell = child => h('div', { role: 'gridcell' }, child);
    slot.element = h('div', { class: 'row', role: 'row', onclick: event => this.#click(event, slot), ondblclick: () => slot.row && this.options.open?.(slot.row) });
    if (this.options.selectable) {
      slot.check = h('input', { type: 'checkbox', tabindex: '-1' });
      slot.element.append(h('div', { role: 'gridcell', class: 'check' }, slot.check));
    }
    slot.cells = this.columns.map(column => {
      const made = column.make();
      const holder = cell(made);
      holder.className = `c-${column.id}`;
      slot.element.append(holder);
      return made;
    });
    return slot;
  }

  #update(slot, index) {
    const row = this.rows[index], { element } = slot;
    if (!row) return;
    if (slot.top !== index * this.rowHeight) { slot.top = index * this.rowHeight; element.style.top = `${slot.top}px`; }
    if (slot.index !== index) {
      slot.index = index;
      element.id = `${this.id}-${index}`;
      element.setAttribute('aria-rowindex', String(index + 2));
      this.#sortLater();
    }
    const selected = this.selected.has(this.options.keyOf(row)), active = index === this.#active;
    if (element.classList.contains('active') !== active) element.classList.toggle('active', active);
    if (this.options.selectable && (slot.check.checked !== selected || slot.row !== row)) {
      slot.check.checked = selected;
      attribute(element, 'aria-selected', String(selected));
      attribute(slot.check, 'aria-label', `Select ${row.name}`);
    }
    const age = this.options.ticks?.() ?? 0;
    if (slot.row === row && slot.tick === age) return;
    slot.row = row;
    slot.tick = age;
    this.columns.forEach((column, at) => column.update(slot.cells[at], row));
  }

  #headCell(column) {
    const title = column.sortable ? h('button', { class: 'sort', onclick: () => this.options.onSort?.(column.id) }, column.title, h('span', { class: 'arrow', 'aria-hidden': 'true' })) : h('span', {}, column.title);
    return h('div', { role: 'columnheader', class: `c-${column.id}`, 'data-column': column.id }, title);
  }

  #headCheck() {
    this.all = h('input', { type: 'checkbox', 'aria-label': 'Select all shown', onclick: () => this.select(this.all.checked ? this.rows.map(this.options.keyOf) : []) });
    return h('div', { role: 'columnheader', class: 'check' }, this.all);
  }

  #selectionChanged() {
    if (this.all) {
      const count = this.selected.size;
      this.all.checked = count > 0 && count >= this.rows.length;
      this.all.indeterminate = count > 0 && count < this.rows.length;
    }
    this.options.onSelect?.(this.selected);
    this.schedule();
  }

  #toggle(index, range) {
    const key = this.options.keyOf(this.rows[index]), wanted = !this.selected.has(key);
    const from = range && this.#anchor >= 0 ? Math.min(this.#anchor, index) : index, to = range && this.#anchor >= 0 ? Math.max(this.#anchor, index) : index;
    for (const row of this.rows.slice(from, to + 1)) {
      const one = this.options.keyOf(row);
      if (range || wanted) this.selected.add(one); else this.selected.delete(one);
    }
    this.#anchor = index;
    this.#selectionChanged();
  }

  #click(event, slot) {
    if (!slot.row) return;
    this.#active = slot.index;
    if (event.target.closest('.check')) { event.target === slot.check || event.preventDefault(); this.#toggle(slot.index, event.shiftKey); }
    else if (!event.target.closest('a, button') && this.options.onPick) this.options.onPick(slot.row);
    this.schedule();
  }

  #key(event) {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 2), last = this.rows.length - 1;
    const to = { ArrowDown: this.#active + 1, ArrowUp: this.#active - 1, PageDown: this.#active + page, PageUp: this.#active - page, Home: 0, End: last }[event.key];
    if (to !== undefined) { this.#move(Math.max(0, Math.min(last, to))); event.preventDefault(); return; }
    const row = this.rows[this.#active];
    if (!row) return;
    if (event.key === ' ' && this.options.selectable) { this.#toggle(this.#active, event.shiftKey); event.preventDefault(); }
    if (event.key === 'Enter') { this.options.open?.(row); event.preventDefault(); }
  }

  #move(index) {
    this.#active = index;
    const top = index * this.rowHeight, head = this.head.offsetHeight, height = this.element.clientHeight - head;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > this.element.scrollTop + height) this.element.scrollTop = top + this.rowHeight - height;
    this.schedule();
  }
}
