// How full something is: a bar with its figures as text.
import { percent } from '../lib/format.js';
import { h } from './dom.js';

export function bar(title, used, total, print) {
  const part = total > 0 ? used / total : 0;
  return h('div', { class: 'bar' }, h('div', { class: 'bar-text' }, h('span', {}, title), h('span', { class: 'muted' }, `${print(used)} of ${print(total)} (${percent(part)})`)),
    h('div', { class: `bar-track ${part > 1 ? 'over' : part > 0.85 ? 'full' : ''}`, role: 'meter', 'aria-label': title, 'aria-valuemin': '0', 'aria-valuemax': '100', 'aria-valuenow': String(Math.min(100, Math.round(part * 100))) }, h('i', { style: { '--part': String(Math.min(1, part)) } })));
}

export const plainTable = (label, heads, rows, none) => rows.length === 0 ? h('p', { class: 'muted' }, none) : h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
  h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, heads.map(head => h('th', { scope: 'col' }, head)))), h('tbody', {}, rows.map(cells => h('tr', {}, cells.map(cell => h('td', {}, cell)))))));
