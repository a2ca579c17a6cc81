// Modal dialogs: the browser's own, which keeps the focus inside, closes on Escape and gives the focus back.
import { freshId, h } from './dom.js';
import { icon } from './icons.js';

/** Opens a dialog with a title and content; buttons: [{title, class, act(close)}]. Returns {element, close, body, foot, closed: Promise}. */
export function openDialog(title, content, { buttons = [], wide = false } = {}) {
  const id = freshId('dialog'), before = document.activeElement;
  const body = h('div', { class: 'dialog-body' }, content), foot = h('footer', { class: 'dialog-foot' });
  const element = h('dialog', { class: wide ? 'wide' : '', 'aria-labelledby': id },
    h('header', { class: 'dialog-head' }, h('h2', { id }, title), h('button', { class: 'quiet small', 'aria-label': 'Close', onclick: () => close() }, icon('close'))), body, foot);
  let settle;
  const closed = new Promise(done => { settle = done; });
  const close = value => { if (element.open) element.close(); element.remove(); settle(value); if (before?.isConnected) before.focus(); };
  element.addEventListener('close', () => close());
  for (const button of buttons) foot.append(h('button', { class: button.class ?? '', onclick: () => button.act(close) }, button.title));
  document.body.append(element);
  element.showModal();
  return { element, close, body, foot, closed };
}
