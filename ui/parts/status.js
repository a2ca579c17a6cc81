// A status as a dot and a word: the colour never stands alone.
import { h, text } from './dom.js';
import { toneOf } from '../lib/rows.js';

export const statusMark = (status = '', tone = toneOf(status)) => updateStatus(h('span', { class: 'status' }, h('i', { class: 'dot', 'aria-hidden': 'true' }), h('span', {})), status, tone);

export function updateStatus(element, status, tone = toneOf(status)) {
  if (element.dataset.tone !== tone) element.dataset.tone = tone;
  text(element.lastChild, status);
  return element;
}

export const notice = (tone, title, ...children) => h('div', { class: `notice ${tone}`, role: tone === 'bad' ? 'alert' : null }, title ? h('strong', {}, title) : null, children);

export const empty = (title, ...children) => h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), children);
