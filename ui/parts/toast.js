// Short messages at the edge, read out by screen readers. Errors stay until they are closed.
import { h } from './dom.js';
import { icon } from './icons.js';

const SHOWN_MS = 6000, TOASTS_MAX = 4;
let place = null;

export function toast(message, { tone = 'good', title = '' } = {}) {
  place ??= document.body.appendChild(h('div', { class: 'toasts', role: 'region', 'aria-label': 'Messages' }));
  const one = h('div', { class: `toast ${tone}`, role: tone === 'bad' ? 'alert' : 'status' },
    h('div', {}, title ? h('strong', {}, title) : null, h('p', {}, message)),
    h('button', { class: 'quiet small', 'aria-label': 'Close the message', onclick: () => one.remove() }, icon('close')));
  place.append(one);
  while (place.children.length > TOASTS_MAX) place.firstChild.remove();
  if (tone !== 'bad') setTimeout(() => one.remove(), SHOWN_MS);
  return one;
}

export const failed = (title, error) => toast(error.message, { tone: 'bad', title });
